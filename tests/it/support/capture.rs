//! Captures, written and read byte by byte, and what their frames contain: a second, simple reading of the
//! formats.

use super::program::{edison, run};
use super::scratch::Scratch;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};

/// LINKTYPE_ETHERNET.
pub(crate) const ETHERNET: u32 = 1;

const HEADER: usize = 24;
const RECORD_HEADER: usize = 16;

#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) time_ns: u64,
    pub(crate) data: Vec<u8>,
}

/// Source, destination, protocol, ports.
pub(crate) type Key = (IpAddr, IpAddr, u8, u16, u16);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) packets: u64,
    pub(crate) total_byte: u64,
}

pub(crate) type Flows = HashMap<Key, Count>;

/// A generated capture, its frames and its truth.
pub(crate) struct Generated {
    pub(crate) path: PathBuf,
    pub(crate) frames: Vec<Frame>,
    pub(crate) truth: serde_json::Value,
}

/// Runs `edison generate`.
pub(crate) fn generate(scratch: &Scratch, spec: &str) -> Generated {
    let path = scratch.path("generated.pcap");
    run(edison().arg("generate").arg(&path).arg(spec)).expect(0);
    let frames = read(&path);
    let truth = std::fs::read_to_string(scratch.path("generated.pcap.truth.json")).expect("it was written");
    Generated { path, frames, truth: serde_json::from_str(&truth).expect("JSON") }
}

/// The two taps within a path whose second hop loses packets, as the sources of Node1 and Node2.
pub(crate) fn lossy_taps(scratch: &Scratch) -> [String; 2] {
    let path = scratch.path("path.pcap");
    let spec = "connections=40,segments=200,over=10s,hops=3,lossy=2,loss=2%";
    run(edison().arg("generate").arg(&path).args(["--path", spec])).expect(0);
    let tap = |number: usize| scratch.path(&format!("path.tap{number}.pcap"));
    [1, 2].map(|number| format!("Node{number}={}", tap(number).display()))
}

/// The frames of a pcap file of this machine's byte order with nanoseconds.
pub(crate) fn read(path: &Path) -> Vec<Frame> {
    let whole = |(frame, wire_len): (Frame, usize)| {
        assert_eq!(frame.data.len(), wire_len, "these tests do not cut frames");
        frame
    };
    records(path).into_iter().map(whole).collect()
}

/// The same where frames are cut.
pub(crate) fn read_cut(path: &Path) -> Vec<Frame> {
    records(path).into_iter().map(|(frame, _)| frame).collect()
}

/// Frames and their lengths on the wire.
fn records(path: &Path) -> Vec<(Frame, usize)> {
    let bytes = std::fs::read(path).expect("it was written");
    let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    assert_eq!((word(0), word(20)), (0xa1b2_3c4d, ETHERNET));
    let mut records = Vec::new();
    let mut at = HEADER;
    while at < bytes.len() {
        let (captured, wire_len) = (word(at + 8) as usize, word(at + 12) as usize);
        let data = bytes[at + RECORD_HEADER..][..captured].to_vec();
        let time_ns = u64::from(word(at)) * 1_000_000_000 + u64::from(word(at + 4));
        records.push((Frame { time_ns, data }, wire_len));
        at += RECORD_HEADER + captured;
    }
    records
}

/// A pcap file with nanoseconds.
pub(crate) fn pcap(link_type: u32, frames: &[Frame]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in [0xa1b2_3c4d, 2 | 4 << 16, 0, 0, 262_144, link_type] {
        bytes.extend(u32::to_le_bytes(word));
    }
    for frame in frames {
        let length = frame.data.len() as u64;
        for word in [frame.time_ns / 1_000_000_000, frame.time_ns % 1_000_000_000, length, length] {
            bytes.extend(u32::try_from(word).expect("a field of 32 bits").to_le_bytes());
        }
        bytes.extend(&frame.data);
    }
    bytes
}

/// The pcap file with other times: `time` maps each frame's, and leaves out those that it gives none.
pub(crate) fn retimed(path: &Path, time: impl Fn(u64) -> Option<u64>) -> Vec<u8> {
    let bytes = std::fs::read(path).expect("it was written");
    let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    assert_eq!(word(0), 0xa1b2_3c4d);
    let (mut written, mut at) = (bytes[..HEADER].to_vec(), HEADER);
    while at < bytes.len() {
        let end = at + RECORD_HEADER + word(at + 8) as usize;
        if let Some(time_ns) = time(u64::from(word(at)) * 1_000_000_000 + u64::from(word(at + 4))) {
            for part in [time_ns / 1_000_000_000, time_ns % 1_000_000_000] {
                written.extend(u32::try_from(part).expect("a field of 32 bits").to_ne_bytes());
            }
            written.extend(&bytes[at + 8..end]);
        }
        at = end;
    }
    written
}

/// A pcapng file of one section and one interface with nanoseconds.
pub(crate) fn pcapng(frames: &[Frame]) -> Vec<u8> {
    fn block(kind: u32, body: &[u8]) -> Vec<u8> {
        let mut padded = body.to_vec();
        padded.resize(body.len().next_multiple_of(4), 0);
        let length = (padded.len() as u32 + 12).to_le_bytes();
        [&kind.to_le_bytes()[..], &length, &padded, &length].concat()
    }
    let section = [&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat();
    // Link type, snap length, then if_tsresol 9 and the end of options.
    let interface = [&ETHERNET.to_le_bytes()[..], &[0; 4], &[9, 0, 1, 0, 9, 0, 0, 0], &[0; 4]].concat();
    let mut bytes = [block(0x0a0d_0d0a, &section), block(1, &interface)].concat();
    for frame in frames {
        let length = (frame.data.len() as u32).to_le_bytes();
        let (high, low) = ((frame.time_ns >> 32) as u32, frame.time_ns as u32);
        let head = [&[0; 4], &high.to_le_bytes()[..], &low.to_le_bytes(), &length, &length];
        bytes.extend(block(6, &[&head.concat()[..], &frame.data].concat()));
    }
    bytes
}

/// Key and layer-3 length of an untagged Ethernet frame with a plain IPv4 or IPv6 header.
pub(crate) fn layer3(frame: &[u8]) -> (Key, u64) {
    let half = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
    let (source, destination, protocol, length, transport): (IpAddr, IpAddr, _, _, _) = match half(12) {
        0x0800 => {
            assert_eq!(frame[14], 0x45);
            let address =
                |at: usize| <[u8; 4]>::try_from(&frame[at..at + 4]).map(Ipv4Addr::from).expect("four");
            (address(26).into(), address(30).into(), frame[23], u64::from(half(16)), 34)
        }
        0x86dd => {
            let address =
                |at: usize| <[u8; 16]>::try_from(&frame[at..at + 16]).map(Ipv6Addr::from).expect("16");
            (address(22).into(), address(38).into(), frame[20], 40 + u64::from(half(18)), 54)
        }
        other => panic!("EtherType {other:#x}"),
    };
    let ports = match protocol {
        6 | 17 => (half(transport), half(transport + 2)),
        // Type and code, as NetFlow has it.
        1 | 58 => (0, half(transport)),
        other => panic!("protocol {other}"),
    };
    ((source, destination, protocol, ports.0, ports.1), length)
}

/// Packets and bytes per key.
pub(crate) fn flows<'a>(frames: impl IntoIterator<Item = &'a Frame>) -> Flows {
    let mut flows = Flows::new();
    for frame in frames {
        let (key, length) = layer3(&frame.data);
        let count = flows.entry(key).or_default();
        count.packets += 1;
        count.total_byte += length;
    }
    flows
}

/// A UDP frame between two fixed hosts, told apart by its source port.
pub(crate) fn udp(port: u16) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    frame.extend([0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 198, 51, 100, 1]);
    frame.extend(port.to_be_bytes());
    frame.extend([0, 53, 0, 26, 0, 0]);
    frame.resize(60, 0);
    frame
}

/// The same over IPv6.
pub(crate) fn udp6(port: u16) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xdd, 0x60, 0, 0, 0, 0, 8, 17, 64];
    frame.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    frame.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
    frame.extend(port.to_be_bytes());
    frame.extend([0, 53, 0, 8, 0, 0]);
    frame
}

/// A TCP segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    /// Address and port of the sender, then of the receiver.
    pub(crate) ends: [([u8; 4], u16); 2],
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) win: u16,
    /// Bytes of payload.
    pub(crate) payload: u16,
}

/// A frame with a TCP segment over IPv4.
pub(crate) fn tcp(segment: &Segment) -> Vec<u8> {
    let Segment { ends: [from, to], seq, ack, win, payload } = *segment;
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0];
    let length = 40 + payload;
    frame.extend(length.to_be_bytes());
    frame.extend([0, 0, 0, 0, 64, 6, 0, 0]);
    frame.extend([from.0, to.0].concat());
    frame.extend([from.1, to.1].map(u16::to_be_bytes).concat());
    frame.extend([seq, ack].map(u32::to_be_bytes).concat());
    frame.extend([0x50, 0x10]);
    frame.extend(win.to_be_bytes());
    frame.resize(14 + usize::from(length), 0);
    frame
}

/// Frames of [`udp`], one a millisecond from `start_ns` on, over seven flows.
pub(crate) fn udp_frames(count: u64, start_ns: u64) -> Vec<Frame> {
    (0..count)
        .map(|n| Frame { time_ns: start_ns + n * 1_000_000, data: udp(1000 + (n % 7) as u16) })
        .collect()
}
