//! The cost of identifying a packet's flow (figure 6b): from the descriptor alone, or from headers in memory.

use super::BENCH;
use super::flows::{Arrival, PointTraffic};
use crate::compare::{in_turn, ns};
use crate::huge::room;
use crate::tuple::Tuple;
use crate::{BenchResult, Points};
use serde_json::json;
use std::hint::black_box;
use std::time::Instant;
use traffic::{Generator, TrafficSpec};

/// Packets of a round.
const ROUND: usize = 4_000_000;

/// Runs it: frames that fit in L2, and such that do not.
pub(super) fn run(points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    for frames in [1_000, 64_000] {
        point(frames, points, out)?;
    }
    Ok(())
}

/// A received frame as DPDK's mempools lay it out, in huge pages: a descriptor of two cache lines, headroom,
/// data.
#[derive(Clone)]
#[repr(C, align(64))]
struct Mbuf {
    /// The offset of the frame in `buffer`.
    data_offset: u16,
    /// The RSS hash that the card computed.
    rss: u32,
    _rest_of_descriptor: [u8; 120],
    buffer: [u8; 128 + 2048],
}

impl Mbuf {
    const HEADROOM: u16 = 128;

    fn new(rss: u32, frame: &[u8]) -> Self {
        let mut buffer = [0; 128 + 2048];
        buffer[Self::HEADROOM.into()..][..frame.len()].copy_from_slice(frame);
        Self { data_offset: Self::HEADROOM, rss, _rest_of_descriptor: [0; 120], buffer }
    }

    /// The headers at fixed offsets, as in the paper's measurement: Ethernet, then IPv4 without options.
    #[inline(always)]
    fn headers(&self) -> &[u8; HEADERS] {
        // Masked to what lies within the buffer, so that no check is left: DPDK has none.
        self.buffer[usize::from(self.data_offset) & 0xfe..].first_chunk().expect("the buffer is longer")
    }
}

#[inline(always)]
fn address(headers: &[u8; HEADERS], at: usize) -> u64 {
    u64::from(u32::from_be_bytes(std::array::from_fn(|i| headers[at + i])))
}

#[inline(always)]
fn port(headers: &[u8; HEADERS], at: usize) -> u64 {
    u64::from(u16::from_be_bytes([headers[at], headers[at + 1]]))
}

const PROTOCOL: usize = 23;
const SRC_ADDR: usize = 26;
const DST_ADDR: usize = 30;
const SRC_PORT: usize = 34;
const DST_PORT: usize = 36;
/// Bytes of Ethernet, IPv4 and ports.
const HEADERS: usize = 38;

/// The sums of what is read of all packets, in host order, separately for each member.
type FieldSums = [u64; 5];

/// The contents of a frame, as known from the key stream without parsing it.
#[derive(Clone, Copy)]
struct SentFrame {
    tuple: Tuple,
    rss: u32,
}

/// A way to identify a flow.
struct IdentifyMethod {
    name: &'static str,
    /// Bytes of the frame that it reads.
    bytes: usize,
    pass: fn(&[Mbuf]) -> FieldSums,
    /// The expected result of a pass.
    expected: fn(&[SentFrame]) -> FieldSums,
}

#[inline(always)]
fn sums(mbufs: &[Mbuf], read: impl Fn(&Mbuf) -> FieldSums) -> FieldSums {
    mbufs.iter().fold(FieldSums::default(), |sums, mbuf| {
        // One packet at a time.
        let read = read(black_box(mbuf));
        std::array::from_fn(|i| sums[i] + read[i])
    })
}

/// The sums of the first `count` members of the tuples.
fn members(sent: &[SentFrame], count: usize) -> FieldSums {
    std::array::from_fn(|member| {
        let is_read = u64::from(member < count);
        is_read * sent.iter().map(|sent| u64::from(sent.tuple.members()[member])).sum::<u64>()
    })
}

const WAYS: [IdentifyMethod; 4] = [
    IdentifyMethod {
        name: "identify_rss_hash",
        bytes: 0,
        pass: |mbufs| sums(mbufs, |mbuf| [u64::from(mbuf.rss), 0, 0, 0, 0]),
        expected: |sent| [sent.iter().map(|sent| u64::from(sent.rss)).sum(), 0, 0, 0, 0],
    },
    IdentifyMethod {
        name: "identify_addresses",
        bytes: 8,
        pass: |mbufs| {
            sums(mbufs, |mbuf| {
                let h = mbuf.headers();
                [address(h, SRC_ADDR), address(h, DST_ADDR), 0, 0, 0]
            })
        },
        expected: |sent| members(sent, 2),
    },
    IdentifyMethod {
        name: "identify_addresses_ports",
        bytes: 12,
        pass: |mbufs| {
            sums(mbufs, |mbuf| {
                let h = mbuf.headers();
                [address(h, SRC_ADDR), address(h, DST_ADDR), port(h, SRC_PORT), port(h, DST_PORT), 0]
            })
        },
        expected: |sent| members(sent, 4),
    },
    IdentifyMethod {
        name: "identify_five_tuple",
        bytes: 13,
        pass: |mbufs| {
            sums(mbufs, |mbuf| {
                let h = mbuf.headers();
                let (src_port, dst_port) = (port(h, SRC_PORT), port(h, DST_PORT));
                [address(h, SRC_ADDR), address(h, DST_ADDR), src_port, dst_port, h[PROTOCOL].into()]
            })
        },
        expected: |sent| members(sent, 5),
    },
];

/// Frames of TCP and UDP, and what they hold.
fn frames(count: usize, flows: u64, zipf: f64) -> Result<(Vec<Mbuf>, Vec<SentFrame>), String> {
    // Echoes have no ports, and are left out: one frame in 64.
    let drawn = 2 * count as u64;
    let traffic = PointTraffic::draw(drawn, flows, zipf, Arrival::Drawn)?;
    let spec: TrafficSpec = format!("packets={drawn},flows={flows},zipf={zipf},size=64,ipv6=0%,seed=1")
        .parse()
        .map_err(|error| format!("{error}"))?;
    let mut generator = Generator::new(spec);
    let mut buffer = vec![0; generator.longest_capture()];
    let mut mbufs = room(count);
    let mut sent = Vec::with_capacity(count);
    for (key, &rss) in traffic.packets().keys.iter().zip(traffic.packets().hashes) {
        let made = generator.next_frame(&mut buffer).ok_or("the generator made too few frames")?;
        let tuple = Tuple::from_v4(key);
        if tuple.has_ports() && mbufs.len() < count {
            mbufs.push(Mbuf::new(rss, &buffer[..made.captured as usize]));
            sent.push(SentFrame { tuple, rss });
        }
    }
    Ok((mbufs, sent))
}

fn point(count: usize, points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    let flows = points.flows.unwrap_or(1_000_000);
    let zipf = points.zipf.unwrap_or(1.0);
    let (mbufs, sent) = frames(count, flows, zipf)?;
    let passes = (ROUND / count).max(1);
    let mut ways = WAYS.map(|way| (way, true));
    let times = in_turn(&mut ways, points.seconds, |(way, checked)| {
        let began = Instant::now();
        let mut all = (0..passes).map(|_| (way.pass)(black_box(&mbufs)));
        let first = all.next().unwrap_or_default();
        let same = all.all(|sums| sums == first);
        let time = ns(began.elapsed());
        *checked &= same && first == (way.expected)(&sent);
        time
    });
    for ((way, checked), rounds_ns) in ways.into_iter().zip(times) {
        out(BenchResult {
            bench: BENCH,
            variant: way.name.to_owned(),
            params: vec![
                ("frames", json!(count)),
                ("flows", json!(flows)),
                ("zipf", json!(zipf)),
                ("cores", json!(1)),
            ],
            packets: (passes * mbufs.len()) as u64,
            rounds_ns,
            memory_bytes: Some(size_of_val(&*mbufs) as u64),
            checked,
            more: vec![("bytes_read", json!(way.bytes))],
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_lies_before_its_frame_as_in_dpdk() {
        assert_eq!(size_of::<Mbuf>(), 128 + 128 + 2048);
        assert_eq!(std::mem::offset_of!(Mbuf, buffer), 128);
        let frame: Vec<u8> = (0..60).collect();
        assert_eq!(Mbuf::new(7, &frame).headers()[..], frame[..HEADERS]);
    }

    #[test]
    fn what_is_read_is_what_was_generated() {
        let (mbufs, sent) = frames(500, 200, 1.0).unwrap();
        assert_eq!((mbufs.len(), sent.len()), (500, 500));
        for way in WAYS {
            assert_eq!((way.pass)(&mbufs), (way.expected)(&sent), "{}", way.name);
            let read = (way.pass)(&mbufs).iter().filter(|&&sum| sum != 0).count();
            assert_eq!(
                read,
                [1, 2, 4, 5][[0, 8, 12, 13].iter().position(|&bytes| bytes == way.bytes).unwrap()]
            );
        }
    }

    #[test]
    fn sums_are_of_every_packet() {
        let (mbufs, sent) = frames(50, 20, 0.0).unwrap();
        for way in WAYS {
            assert_ne!((way.pass)(&mbufs[1..]), (way.expected)(&sent), "{}", way.name);
        }
    }
}
