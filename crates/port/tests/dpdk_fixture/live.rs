//! What every driver that reads a kernel interface must do: the same test for each.

use super::receive::{open, receive};
use super::veth::Veth;
use port::{PacketSource, TimeBase};
use std::time::Duration;

const QUIET: Duration = Duration::from_millis(300);

/// Frames sent slowly arrive one by one, byte for byte; of frames that nobody takes in time, each is received
/// or counted as lost.
pub(crate) fn counts_what_is_sent(devargs: &str) {
    let Some(veth) = Veth::new() else { return };
    let devargs = format!("{devargs},iface={}", Veth::NEAR);
    let mut source = open(&[&devargs]).expect("the port opens");
    assert_eq!(source.time_base(), TimeBase::Clock);
    let lost = |source: &mut port::dpdk::DpdkSource| -> u64 {
        let counters = source.lost().expect("this driver's losses are known");
        counters.iter().map(|(_, value)| value).sum()
    };

    let before = now_ns();
    for number in 0..500 {
        let frame = Veth::frame(number);
        veth.send(&frame);
        let received = receive(&mut source, 1, Duration::ZERO);
        let received = match received.as_slice() {
            // The kernel may take a moment; a frame is waited for, not raced.
            [] => receive(&mut source, 1, QUIET),
            _ => received,
        };
        let own: Vec<_> = received.iter().filter(|frame| Veth::is_own(&frame.data)).collect();
        assert_eq!(own.len(), 1, "frame {number}");
        assert_eq!(own[0].data, frame, "frame {number}");
        assert_eq!(own[0].wire_len as usize, frame.len());
        assert!((before..=now_ns()).contains(&own[0].time_ns), "the clock's time");
    }
    assert_eq!(lost(&mut source), 0);

    // More than any ring holds, and nobody polls meanwhile.
    const FLOOD: u32 = 20_000;
    for number in 0..FLOOD {
        veth.send(&Veth::frame(number));
    }
    let received = receive(&mut source, 1, QUIET);
    let own = received.iter().filter(|frame| Veth::is_own(&frame.data)).count() as u64;
    let lost = lost(&mut source);
    assert!(own > 0 && lost > 0, "received {own}, lost {lost}: {:?}", source.lost());
    assert_eq!(own + lost, u64::from(FLOOD), "{:?}", source.lost());
}

fn now_ns() -> u64 {
    std::time::SystemTime::UNIX_EPOCH.elapsed().expect("a clock after 1970").as_nanos() as u64
}
