//! The background's TCP, followed connection by connection from the bytes of the frames.

use std::collections::HashMap;
use traffic::{FrameOrigin, Generator, TrafficSpec};

const FIN: u8 = 1;
const SYN: u8 = 2;
const ACK: u8 = 16;

/// Addresses and ports, as in the frame.
type Side = (Vec<u8>, [u8; 2]);

struct Segment {
    from: Side,
    to: Side,
    seq: u32,
    ack: u32,
    flags: u8,
    payload: u32,
}

/// The TCP segment of an untagged frame without IP options, its checksum aside.
fn segment(frame: &[u8]) -> Option<Segment> {
    let (addresses, protocol, total, transport) = match frame[12] {
        0x08 => (26..34, frame[23], u16::from_be_bytes([frame[16], frame[17]]) - 20, 34),
        _ => (22..54, frame[20], u16::from_be_bytes([frame[18], frame[19]]), 54),
    };
    if protocol != 6 {
        return None;
    }
    let (from, to) = frame[addresses.clone()].split_at(addresses.len() / 2);
    let tcp = &frame[transport..];
    let word = |at: usize| u32::from_be_bytes([tcp[at], tcp[at + 1], tcp[at + 2], tcp[at + 3]]);
    Some(Segment {
        from: (from.to_vec(), [tcp[0], tcp[1]]),
        to: (to.to_vec(), [tcp[2], tcp[3]]),
        seq: word(4),
        ack: word(8),
        flags: tcp[13],
        payload: u32::from(total) - u32::from(tcp[12] >> 4) * 4,
    })
}

/// Calls `each` with every segment of the background.
fn segments(text: &str, mut each: impl FnMut(Segment)) {
    let mut generator = Generator::new(text.parse::<TrafficSpec>().expect(text));
    let mut buffer = vec![0; 9216];
    while let Some(frame) = generator.next_frame(&mut buffer) {
        let is_background = matches!(frame.origin, FrameOrigin::Rank(_));
        if let Some(segment) = segment(&buffer[..frame.captured as usize]).filter(|_| is_background) {
            each(segment);
        }
    }
}

#[test]
fn numbers_follow_the_flows_own_bytes() {
    // The first has flows that send more than 2^32 bytes.
    for (text, wraps) in [
        ("packets=600k,flows=4,zipf=uniform,size=9216,snap=80", true),
        ("packets=200k,flows=30k,size=64:3/1518:1,ipv6=30%,plant=elephant", false),
        ("packets=50k,flows=7,ipv6=100%", false),
    ] {
        let mut next: HashMap<(Side, Side), u32> = HashMap::new();
        let (mut wrapped, mut answered) = (0, 0);
        segments(text, |it| {
            let (own, other) = ((it.from.clone(), it.to.clone()), (it.to, it.from));
            if let Some(&peer) = next.get(&other) {
                assert_eq!(it.ack, peer, "{text}: all that the other direction sent");
                answered += 1;
            }
            let expected = *next.get(&own).unwrap_or(&it.seq);
            assert_eq!(it.seq, expected, "{text}");
            let end = it.seq.wrapping_add(it.payload);
            wrapped += u32::from(end < it.seq);
            next.insert(own, end);
        });
        assert!(answered > 1000, "{text}");
        assert_eq!(wrapped > 0, wraps, "{text}: {wrapped} wrapped");
    }
}

/// The progress of a connection.
#[derive(Default)]
struct Connection {
    client: Option<Side>,
    /// Flags of the packets that were no data.
    control: Vec<(bool, u8)>,
    /// Expected sequence number: of the client, of the server.
    next: [u32; 2],
    acked: [u32; 2],
    segments: u32,
    unacknowledged: [u32; 2],
}

#[test]
fn connections_have_a_beginning_and_an_end() {
    for text in [
        "packets=300k,flows=2001,size=64:3/1518:1,ipv6=30%,tcp=handshake:5",
        "packets=100k,flows=300,size=1518,tcp=handshake:1",
        "packets=300k,flows=500,size=9216,snap=100,tcp=handshake",
    ] {
        let mut connections: HashMap<(Side, Side), Connection> = HashMap::new();
        let (mut ended, mut segments_of_ended) = (0u32, 0);
        segments(text, |it| {
            let pair =
                if it.from < it.to { (it.from.clone(), it.to.clone()) } else { (it.to, it.from.clone()) };
            let one = connections.entry(pair).or_default();
            let is_client = *one.client.get_or_insert(it.from.clone()) == it.from;
            let own = usize::from(!is_client);
            if it.flags & SYN != 0 {
                assert_ne!(one.next[own], it.seq, "{text}: a connection of its own");
                one.next[own] = it.seq;
            }
            assert_eq!(it.seq, one.next[own], "{text}");
            one.next[own] =
                it.seq.wrapping_add(it.payload).wrapping_add(u32::from(it.flags & (SYN | FIN) != 0));
            if it.flags & ACK != 0 {
                assert_eq!(it.ack, one.next[own ^ 1], "{text}");
                one.acked[own ^ 1] = it.ack;
                one.unacknowledged[own ^ 1] = 0;
            }
            let opened = one.control.len() >= 3;
            if it.flags & 8 != 0 {
                assert!(opened, "{text}: data before the handshake");
                one.segments += 1;
                one.unacknowledged[own] += 1;
                assert!(one.unacknowledged[own] <= 2, "{text}: acknowledged late");
            } else if !opened || it.flags != ACK || one.control.len() > 3 {
                one.control.push((is_client, it.flags));
            } else {
                assert_eq!(it.payload, 0);
            }
            let whole = [
                (true, SYN),
                (false, SYN | ACK),
                (true, ACK),
                (true, FIN | ACK),
                (false, FIN | ACK),
                (true, ACK),
            ];
            assert!(whole.starts_with(&one.control), "{text}: {:?}", one.control);
            if one.control.len() == whole.len() {
                assert!(one.segments >= 1);
                ended += 1;
                segments_of_ended += one.segments;
                *one = Connection { next: one.next, client: one.client.take(), ..Connection::default() };
            }
        });
        assert!(ended > 1000, "{text}: {ended}");
        let mean = f64::from(segments_of_ended) / f64::from(ended);
        let spec: TrafficSpec = text.parse().expect(text);
        let traffic::TcpStyle::Handshake { segments } = spec.tcp() else { panic!("{text}") };
        assert!((mean / f64::from(segments) - 1.0).abs() < 0.1, "{text}: {mean} segments");
    }
}
