//! A bridge and a router of the kernel between two interfaces, with a limit that is known. Counts are compared, never times.

use rfc2544::{
    Addressing, Rfc2544Report, SCHEMA, SizeFigures, Test, TestSettings, Tester, TrialEnd, Verdict,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use testbed::device::{ForwardingDevice, ForwardingKind, with_device};

const BITS: u64 = 256_000;
const BYTES: u64 = 2000;
/// Frames that the kernel keeps between two ends of a virtual link at the most (net.core.netdev_max_backlog).
const BACKLOG: u64 = 1000;

fn settings(tests: &[Test]) -> TestSettings {
    TestSettings {
        tests: tests.to_vec(),
        sizes: vec![128],
        trial_ns: 1_000_000_000,
        latency_trial_ns: 500_000_000,
        latency_repeats: 2,
        burst_ns: 500_000_000,
        burst_repeats: 1,
        resolution_ppm: 50_000,
        loss_step_ppm: 500_000,
        settle_ns: 200_000_000,
        pause_ns: 1_000_000,
        ..TestSettings::of_rfc(10_000_000)
    }
}

fn tester(addressing: Addressing, settings: &TestSettings, stop: &Arc<AtomicBool>) -> Tester {
    let sink = |name| Box::new(port::InterfaceSink::open(name).expect("an interface"));
    let options = port::InterfaceOptions::default();
    let rx = port::InterfaceSource::open(ForwardingDevice::RIGHT, &options).expect("an interface");
    let (tx, learning) = (sink(ForwardingDevice::LEFT), sink(ForwardingDevice::RIGHT));
    Tester::new(tx, Box::new(rx), learning, addressing, settings, stop.clone()).expect("a tester")
}

/// Compares the counts of each trial with each other and with what the device can have forwarded.
fn check(size: &SizeFigures) {
    for trial in size.trials() {
        assert_eq!(trial.sent, trial.received + trial.lost, "{trial:?}");
        assert_eq!((trial.duplicates, trial.wrong_length), (0, 0), "{trial:?}");
        let bits = BITS * (trial.sent * 102 / trial.offered_rate.max(1) + 2) / 100 + 2 * BITS / 100;
        let most = (bits / 8 + 2 * BYTES) / 124 + 1 + BACKLOG;
        assert!(trial.received <= most, "more than {most}: {trial:?}");
    }
}

#[test]
fn a_bridge_loses_what_is_beyond_its_limit() {
    with_device(ForwardingKind::Bridge, |device| {
        device.limit(BITS, BYTES);
        let settings = settings(&[Test::Throughput, Test::FrameLoss]);
        let mut tester = tester(Addressing::default(), &settings, &Arc::default());
        let (sizes, end) = rfc2544::run(&mut tester, &settings, &mut |_| {});
        assert_eq!(end, Ok(()));
        check(&sizes[0]);
        let (throughput, loss) =
            (sizes[0].throughput.as_ref().unwrap(), sizes[0].frame_loss.as_ref().unwrap());
        // 8,445 frames per second are offered, and the device forwards 258.
        assert_eq!((throughput.trials[0].rate, loss.steps.len()), (8445, 2));
        assert!(throughput.trials[0].lost > 0 && loss.steps.iter().all(|step| step.trial.lost > 0));
        assert!(throughput.frames_per_second <= BITS / 8 / 124 + 100 + BACKLOG);
        show(settings, sizes);
    });
}

#[test]
fn a_router_is_tested_by_all_tests() {
    with_device(ForwardingKind::Router, |device| {
        device.limit(BITS, BYTES);
        let settings = settings(&Test::ALL);
        let addressing = Addressing {
            next_hop: Some([2, 0, 0, 0, 1, 1]),
            router_addr: ForwardingDevice::ROUTER_ADDR.parse().ok(),
            ..Addressing::default()
        };
        let mut tester = tester(addressing, &settings, &Arc::default());
        let (sizes, end) = rfc2544::run(&mut tester, &settings, &mut |_| {});
        assert_eq!(end, Ok(()));
        check(&sizes[0]);
        let throughput = sizes[0].throughput.as_ref().unwrap();
        assert_eq!(sizes[0].latency.is_none(), throughput.frames_per_second == 0);
        for trial in sizes[0].trials() {
            assert_eq!(trial.delay.is_none(), trial.received == 0, "{trial:?}");
        }
        assert_eq!(sizes[0].back_to_back.as_ref().unwrap().longest_tried, 4222);
        show(settings, sizes);
    });
}

#[test]
fn nothing_arrives_through_a_device_that_forwards_nothing() {
    with_device(ForwardingKind::Bridge, |device| {
        device.block();
        let settings = settings(&Test::ALL);
        let mut tester = tester(Addressing::default(), &settings, &Arc::default());
        let (sizes, end) = rfc2544::run(&mut tester, &settings, &mut |_| {});
        assert!(matches!(end, Err(TrialEnd::NothingArrived { sent: 100, .. })), "{end:?}");
        assert_eq!(sizes[0].trials().count(), 0);
    });
}

#[test]
fn a_run_ends_when_it_is_told_to_and_when_a_port_vanishes() {
    with_device(ForwardingKind::Bridge, |_| {
        let (settings, stop) = (settings(&Test::ALL), Arc::new(AtomicBool::new(false)));
        let mut tester = tester(Addressing::default(), &settings, &stop);
        let (_, end) =
            rfc2544::run(&mut tester, &settings, &mut |step| stop.store(step.performed == 2, Relaxed));
        assert_eq!(end, Err(TrialEnd::Stopped));
    });
    with_device(ForwardingKind::Bridge, |device| {
        let settings = settings(&Test::ALL);
        let mut tester = tester(Addressing::default(), &settings, &Arc::default());
        let mut vanish = |step: &rfc2544::TrialStep| {
            if step.performed == 2 {
                device.vanish();
            }
        };
        let (sizes, end) = rfc2544::run(&mut tester, &settings, &mut vanish);
        assert!(matches!(&end, Err(TrialEnd::Fault(reason)) if reason.contains("any more")), "{end:?}");
        assert_eq!(sizes[0].trials().count(), 1);
    });
}

#[test]
fn what_is_lost_while_a_link_is_down_is_not_the_devices() {
    for end in [ForwardingDevice::LEFT, ForwardingDevice::RIGHT] {
        with_device(ForwardingKind::Bridge, move |device| {
            let settings = TestSettings { loss_step_ppm: 1_000_000, ..settings(&[Test::FrameLoss]) };
            let mut tester = tester(Addressing::default(), &settings, &Arc::default());
            let mut unplug = |step: &rfc2544::TrialStep| {
                if step.performed == 1 {
                    device.unplug(end);
                }
            };
            let (sizes, ended) = rfc2544::run(&mut tester, &settings, &mut unplug);
            assert_eq!(ended, Ok(()));
            let trial = &sizes[0].frame_loss.as_ref().unwrap().steps[0].trial;
            assert!(trial.sent > 0 && trial.received == 0, "{end}: {trial:?}");
            assert_eq!((trial.lost_by_device(), trial.verdict(0)), (0, Verdict::Undecided), "{end}");
        });
    }
}

#[test]
fn frames_that_a_port_does_not_take_are_refused() {
    with_device(ForwardingKind::Bridge, |_| {
        let settings = TestSettings { sizes: vec![64, 1519], ..settings(&Test::ALL) };
        let sink = |name| Box::new(port::InterfaceSink::open(name).expect("an interface"));
        let options = port::InterfaceOptions::default();
        let rx = port::InterfaceSource::open(ForwardingDevice::RIGHT, &options).expect("an interface");
        let (tx, learning) = (sink(ForwardingDevice::LEFT), sink(ForwardingDevice::RIGHT));
        let refused =
            Tester::new(tx, Box::new(rx), learning, Addressing::default(), &settings, Arc::default());
        let Err(error) = refused else { panic!("1519 bytes are more than the MTU allows") };
        assert!(error.to_string().contains("frames of 1519 bytes are longer than left takes"), "{error}");
    });
}

/// Prints the tables: `cargo test -- --nocapture` shows them.
fn show(settings: TestSettings, sizes: Vec<SizeFigures>) {
    let (tx, rx) = (ForwardingDevice::LEFT.into(), ForwardingDevice::RIGHT.into());
    let report = Rfc2544Report { schema: SCHEMA, tx, rx, settings, sizes, ended_early: false, fault: None };
    println!("{}", rfc2544::report_text(&report));
}
