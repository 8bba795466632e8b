//! The captures that the lines are about.

use crate::support::capture::{self, Frame};
use crate::support::program::{edison, run};
use crate::support::scratch::Scratch;

/// Five minutes with a flood, a scan, a port scan and a large flow, a fifth of it IPv6.
const TRACE: &str = "packets=60k,flows=3k,rate=200,zipf=1.0,ipv6=20%,size=64:7/594:4/1518:1,\
                     plant=flood:sources=1500/scan:targets=300/portscan:ports=400/elephant";
/// Two days, the second with a flood.
const MONDAY: &str = "packets=20k,flows=1k,rate=200,start=1704099600";
const TUESDAY: &str = "packets=24k,flows=1k,rate=200,start=1704186000,plant=flood:sources=900";

/// Writes the captures of the cookbook. `trace`: takes the place of the generated one.
pub(crate) fn write(scratch: &Scratch, trace: Option<&[u8]>) {
    let generated =
        |name: &str, spec: &str| run(edison().arg("generate").arg(scratch.path(name)).arg(spec)).expect(0);
    generated("monday.pcap", MONDAY);
    generated("tuesday.pcap", TUESDAY);
    match trace {
        Some(bytes) => scratch.file("trace.pcap", bytes),
        None => {
            let mut frames = capture::generate(scratch, TRACE).frames;
            frames.iter_mut().for_each(class);
            scratch.file("trace.pcap", capture::pcap(capture::ETHERNET, &frames))
        }
    };
    let mut frames = capture::generate(scratch, MONDAY).frames;
    frames.iter_mut().for_each(tag);
    scratch.file("vlan.pcap", capture::pcap(capture::ETHERNET, &frames));
}

/// A number that both directions of a conversation have, of their addresses.
fn number(frame: &Frame) -> usize {
    let addresses = if is_v4(frame) { 26..34 } else { 22..54 };
    frame.data[addresses].iter().map(|octet| usize::from(*octet)).sum()
}

fn is_v4(frame: &Frame) -> bool {
    frame.data[12..14] == [8, 0]
}

/// Puts a conversation into a class of service.
fn class(frame: &mut Frame) {
    let tos: u8 = [0, 0, 0xb8, 0x28][number(frame) % 4];
    let is_v4 = is_v4(frame);
    let data = &mut frame.data;
    if !is_v4 {
        data[14] = 0x60 | tos >> 4;
        data[15] = tos << 4 | data[15] & 0x0f;
        return;
    }
    data[15] = tos;
    data[24..26].fill(0);
    let words = data[14..34].chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let checksum = !(((folded & 0xffff) + (folded >> 16)) as u16);
    data[24..26].copy_from_slice(&checksum.to_be_bytes());
}

/// Puts a conversation into a VLAN, or into none.
fn tag(frame: &mut Frame) {
    let vlan: u16 = [0, 100, 200][number(frame) % 3];
    if vlan != 0 {
        let tag = [[0x81, 0], vlan.to_be_bytes()].concat();
        frame.data.splice(12..12, tag);
    }
}
