//! What every driver that reads a kernel interface must do: the same test for each.

use super::receive::{open, receive};
use port::dpdk::DpdkSource;
use port::{PacketSource, TimeBase};
use std::time::Duration;
use testbed::veth::{Veth, with_veth};

const QUIET: Duration = Duration::from_millis(300);

/// More than any ring holds.
const FLOOD: u32 = 20_000;

/// Frames sent slowly arrive one by one, byte for byte; of frames that are not polled in time, each is
/// received or counted as lost.
pub(crate) fn counts_what_is_sent(driver: &'static str) {
    with_veth(move |veth| {
        let mut source = open(&[&format!("{driver},iface={}", Veth::NEAR)]).expect("the port opens");
        assert_eq!(source.time_base(), TimeBase::Clock);
        one_by_one(veth, &mut source);
        all_at_once(veth, &mut source);
    });
}

/// Of 60 to 1,499 bytes.
fn frame(number: u32) -> Vec<u8> {
    Veth::frame(number, 60 + (number as usize * 37) % 1440)
}

fn one_by_one(veth: &Veth, source: &mut DpdkSource) {
    let before = now_ns();
    for number in 0..500 {
        let frame = frame(number);
        veth.send(&frame);
        let received = receive(source, Duration::ZERO);
        let received = match received.as_slice() {
            // The kernel may take a moment; a frame is waited for, not raced.
            [] => receive(source, QUIET),
            _ => received,
        };
        let own: Vec<_> = received.iter().filter(|frame| Veth::number_of(&frame.data).is_some()).collect();
        assert_eq!(own.len(), 1, "frame {number}");
        assert_eq!(own[0].data, frame, "frame {number}");
        assert_eq!(own[0].wire_len as usize, frame.len());
        assert!((before..=now_ns()).contains(&own[0].time_ns), "the clock's time");
    }
    assert_eq!(lost(source), 0);
}

/// The port is not polled meanwhile.
fn all_at_once(veth: &Veth, source: &mut DpdkSource) {
    (0..FLOOD).for_each(|number| veth.send(&frame(number)));
    let received = receive(source, QUIET);
    let own = received.iter().filter(|frame| Veth::number_of(&frame.data).is_some()).count() as u64;
    let lost = lost(source);
    assert!(own > 0 && lost > 0, "received {own}, lost {lost}: {:?}", source.lost());
    assert_eq!(own + lost, u64::from(FLOOD), "{:?}", source.lost());
}

fn lost(source: &mut DpdkSource) -> u64 {
    let counters = source.lost().expect("this driver's losses are known");
    counters.iter().map(|(_, value)| value).sum()
}

fn now_ns() -> u64 {
    std::time::SystemTime::UNIX_EPOCH.elapsed().expect("a clock after 1970").as_nanos() as u64
}
