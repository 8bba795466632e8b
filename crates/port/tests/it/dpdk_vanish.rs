//! An interface that is deleted under a port: a fault that names it, not silence.

use crate::dpdk_fixture::receive;
use port::{PacketSource, SourceError};
use std::time::{Duration, Instant};
use testbed::process::alone;
use testbed::veth::{Veth, with_veth};

#[test]
fn a_vanished_interface_is_a_fault() {
    alone(|| {
        with_veth(|pair| {
            let devargs = format!("net_af_packet0,iface={}", Veth::NEAR);
            let mut source = receive::open(&[&devargs]).expect("net_af_packet opens");
            pair.send(&Veth::frame(1, 60));
            let received = receive::receive(&mut source, Duration::from_millis(600));
            let own: Vec<_> = received.iter().filter_map(|frame| Veth::number_of(&frame.data)).collect();
            assert_eq!(own, [1]);

            pair.vanish();
            let start = Instant::now();
            let error = loop {
                match source.rx_burst() {
                    Err(error) => break error,
                    Ok(_) => {
                        assert!(
                            start.elapsed() < Duration::from_secs(60),
                            "the port went on without its interface"
                        )
                    }
                }
            };
            assert!(matches!(&error, SourceError::Fault(text) if text.contains(&devargs)), "{error:?}");
            assert!(source.lost().is_some(), "its counters stay");
        });
    });
}
