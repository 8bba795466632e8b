//! Threads that poll come and go: each has a place in DPDK only while it lives.
use port::dpdk::{DpdkSource, Eal, EalConfig, PortOptions};
use port::{PacketSource, Poll};
use testbed::process::alone;

/// More than `RTE_MAX_LCORE`, the places that DPDK has.
const RUNS: usize = 150;

fn poll(source: &mut DpdkSource) {
    assert!(matches!(source.rx_burst(), Ok(Poll::Burst(_))), "net_null always has frames");
    source.release();
}

#[test]
fn a_process_of_many_runs_has_a_place_for_each_thread() {
    alone(|| {
        let devargs = ["net_null0".to_owned()];
        let options = PortOptions { burst: 64, descriptors: 2048, mbufs: 2431, ..PortOptions::default() };
        let eal = Eal::init(&EalConfig::for_ports(&devargs, &options, &[])).expect("EAL starts");
        // What is reported at the start is independent of threads.
        eal.warnings();

        // Lent to one thread after the other: none keeps mbufs that the next needs.
        let mut source = DpdkSource::open(&eal, &devargs, &options).expect("net_null opens");
        for run in 0..RUNS {
            std::thread::scope(|scope| scope.spawn(|| poll(&mut source)).join()).expect("it polls");
            assert_eq!(source.warnings(), [""; 0], "run {run}, lent");
        }
        // The thread that started EAL keeps its place.
        poll(&mut source);
        assert_eq!(source.warnings(), [""; 0]);
        drop(source);

        // Opened and dropped by the thread.
        for run in 0..RUNS {
            let thread = std::thread::spawn({
                let (eal, devargs) = (eal.clone(), devargs.clone());
                move || {
                    let mut source = DpdkSource::open(&eal, &devargs, &options).expect("net_null opens");
                    poll(&mut source);
                    source.warnings()
                }
            });
            assert_eq!(thread.join().expect("it polls"), [""; 0], "run {run}, its own");
        }

        // A thread that outlives EAL leaves nothing that it could leave.
        let mut source = DpdkSource::open(&eal, &devargs, &options).expect("net_null opens");
        let (ended, wait) = std::sync::mpsc::channel::<()>();
        let (given, take) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            poll(&mut source);
            given.send(source).expect("it is waited for");
            wait.recv().expect_err("the other end is dropped");
        });
        drop(take.recv().expect("it polled"));
        drop(eal);
        drop(ended);
        thread.join().expect("it ends in peace");
    });
}
