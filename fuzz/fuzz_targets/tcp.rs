//! Adversarial segments to the loss tracker: no panic, and no bytes that were not sent.
#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use tcp::{LossCounts, Segment, TcpConnection};

#[derive(Arbitrary, Debug)]
struct Sent {
    back: bool,
    later: u32,
    seq: u32,
    ack: u32,
    payload: u16,
    window: u16,
    flags: u8,
    scale: Option<u8>,
    timestamps: Option<(u32, u32)>,
}

fuzz_target!(|sent: Vec<Sent>| {
    let mut connection = TcpConnection::default();
    let mut time_ns = 1_700_000_000_000_000_000;
    let mut total = [LossCounts::default(); 2];
    let (mut payload, mut segments) = (0, 0);
    for sent in &sent {
        time_ns += u64::from(sent.later);
        let segment = Segment {
            time_ns,
            seq: sent.seq,
            ack: sent.ack,
            payload: sent.payload.into(),
            window: sent.window,
            flags: sent.flags,
            ..Segment::default()
        };
        let segment = segment.with_window_scale(sent.scale).with_timestamps(sent.timestamps);
        connection.segment(sent.back.into(), &segment);
        payload += u64::from(sent.payload);
        segments += 1;
        if sent.flags == 0 {
            total.iter_mut().zip(connection.take()).for_each(|(sum, counts)| sum.add(&counts));
        }
    }
    total.iter_mut().zip(connection.finish()).for_each(|(sum, counts)| sum.add(&counts));
    let sum = |of: fn(&LossCounts) -> u64| total.iter().map(of).sum::<u64>();
    // What is counted as seen twice was sent; each segment counts once.
    assert!(sum(|counts| counts.retrans_byte) <= payload);
    assert!(sum(|counts| counts.retrans_count.into()) <= segments);
    assert!(sum(|counts| counts.zero_window_count.into()) <= segments);
    // One segment opens one hole in its own stream, and indicates one gap in the other.
    assert!(sum(|counts| counts.hole_count.into()) <= 2 * segments);
    // docs/loss.md: a large jump is believed up to 16 MiB in a row, a small one always.
    assert!(
        sum(|counts| counts.ploss_byte + counts.unseen_byte)
            <= (segments + 1) * (1 << 17) + (payload + 1) * 65 + (8 << 24)
    );
    assert!(connection.finish().iter().all(LossCounts::is_empty), "nothing is booked twice");
});
