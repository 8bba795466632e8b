//! What must hold of any frame, for every target that has frames.

use packet::{BurstParser, Frame, Key, KeySpec, NotMeasured, Packet, PacketKey, Remark, Seed, Tunnel, parse};
use std::net::IpAddr;

/// Parses a frame every way there is and panics where a promise of the parser does not hold.
pub fn check_frame(frame: &Frame<'_>) {
    for tunnel in [Tunnel::Outer, Tunnel::Inner] {
        let parsed = parse(frame, tunnel);
        if let Ok(packet) = &parsed {
            lengths_are_possible(frame, tunnel, packet);
            addresses_are_in_the_frame(frame, packet);
        }
        burst_parser_agrees(frame, tunnel, &parsed);
    }
    a_snap_length_changes_no_answer(frame);
}

fn lengths_are_possible(frame: &Frame<'_>, tunnel: Tunnel, packet: &Packet) {
    let fields = &packet.fields;
    assert!(fields.total_byte >= 20, "shorter than an IP header");
    // The rest of an inner packet may be in the next fragments of the outer one.
    let most = match tunnel {
        Tunnel::Outer => frame.wire_len,
        Tunnel::Inner => frame.wire_len.max(40 + 65_535),
    };
    assert!(fields.total_byte <= most, "longer than the frame");
    let tag = if frame.stripped_vlan.is_some() { 4 } else { 0 };
    assert_eq!(fields.wire_byte, frame.wire_len.saturating_add(tag));
    assert_eq!(fields.time_ns, frame.time_ns);
}

/// In both versions of IP the source address is followed by the destination address.
fn addresses_are_in_the_frame(frame: &Frame<'_>, packet: &Packet) {
    let key = match packet.key {
        PacketKey::V4(key) => key.flow_key(&KeySpec::FIVE_TUPLE),
        PacketKey::V6(key) => key.flow_key(&KeySpec::FIVE_TUPLE),
    };
    let addresses = match (key.src_addr, key.dst_addr) {
        (Some(IpAddr::V4(src)), Some(IpAddr::V4(dst))) => [src.octets(), dst.octets()].concat(),
        (Some(IpAddr::V6(src)), Some(IpAddr::V6(dst))) => [src.octets(), dst.octets()].concat(),
        mixed => panic!("addresses of two versions: {mixed:?}"),
    };
    assert!(frame.data.windows(addresses.len()).any(|bytes| bytes == addresses));
}

fn burst_parser_agrees(frame: &Frame<'_>, tunnel: Tunnel, parsed: &Result<Packet, NotMeasured>) {
    let seed = Seed::new(1);
    let mut burst = BurstParser::new(seed, tunnel, 1);
    burst.push::<false>(frame, 0);
    let mut not_measured = [0; NotMeasured::ALL.len()];
    let mut remarks = [0; Remark::ALL.len()];
    match parsed {
        Ok(packet) => {
            packet.remarks().for_each(|remark| remarks[remark as usize] += 1);
            let v4 = burst.bursts.v4.packets().iter().map(|p| (PacketKey::V4(p.key), p.hash, p.fields));
            let v6 = burst.bursts.v6.packets().iter().map(|p| (PacketKey::V6(p.key), p.hash, p.fields));
            let hash = match packet.key {
                PacketKey::V4(key) => key.hash(&seed),
                PacketKey::V6(key) => key.hash(&seed),
            };
            assert_eq!(v4.chain(v6).collect::<Vec<_>>(), [(packet.key, hash, packet.fields)]);
        }
        Err(reason) => {
            not_measured[*reason as usize] += 1;
            assert!(burst.bursts.is_empty());
        }
    }
    assert_eq!((burst.not_measured, burst.remarks), (not_measured, remarks));
}

fn protocol(packet: &Packet) -> Option<u8> {
    match packet.key {
        PacketKey::V4(key) => key.flow_key(&KeySpec::FIVE_TUPLE).protocol,
        PacketKey::V6(key) => key.flow_key(&KeySpec::FIVE_TUPLE).protocol,
    }
}

/// With fewer bytes captured, a packet has the same lengths, and its ports or the remark that they were cut, or is
/// `truncated`. A frame that is refused is not measured for having been cut, unless what is wrong with it was cut
/// off: the nesting behind the addresses.
fn a_snap_length_changes_no_answer(frame: &Frame<'_>) {
    let whole = parse(frame, Tunnel::Outer);
    for captured in [frame.data.len() / 2, frame.data.len().saturating_sub(1), frame.data.len().min(54)] {
        let cut = parse(&Frame { data: &frame.data[..captured], ..*frame }, Tunnel::Outer);
        match (whole, cut) {
            (Ok(_) | Err(_), Err(NotMeasured::Truncated)) => {}
            (Ok(whole), Ok(cut)) => {
                assert_eq!(whole.fields.total_byte, cut.fields.total_byte);
                assert_eq!(whole.fields.wire_byte, cut.fields.wire_byte);
                assert_eq!((whole.fields.vlan, whole.fields.ip_ttl), (cut.fields.vlan, cut.fields.ip_ttl));
                assert!(whole.key == cut.key || cut.ports == Some(Remark::PortsTruncated));
                assert!(protocol(&whole) == protocol(&cut) || cut.protocol_truncated);
            }
            (Err(NotMeasured::MalformedNesting), Ok(cut)) => {
                assert_eq!(cut.ports, Some(Remark::PortsTruncated));
            }
            (Err(whole), Err(cut)) => assert_eq!(whole, cut),
            (whole, cut) => panic!("{whole:?} became {cut:?} with {captured} bytes captured"),
        }
    }
}
