//! What is measured of an Ethernet frame, given as hexadecimal digits: `cargo run -p packet --example parse -- DIGITS`.
//! Without digits it is a UDP packet from 192.0.2.1 to 198.51.100.7.

use packet::{Frame, KeySpec, LinkType, PacketKey, Tunnel, parse};

const FRAME: &str =
    "0200000000020200000000010800 4500001d00000000401100 00c0000201c6336407 d43100350009000058";

/// Prints the frame's key and fields, or why it is not measured.
fn show(digits: &str) -> Result<(), String> {
    let digits: Vec<u32> = digits
        .chars()
        .filter(|digit| !digit.is_whitespace())
        .map(|digit| digit.to_digit(16).ok_or(format!("'{digit}' is no hexadecimal digit")))
        .collect::<Result<_, _>>()?;
    let data: Vec<u8> =
        digits.chunks(2).map(|pair| pair.iter().fold(0, |sum, digit| sum << 4 | *digit as u8)).collect();
    let wire_len = data.len() as u32;
    let frame = Frame { data: &data, wire_len, time_ns: 0, link: LinkType::Ethernet, stripped_vlan: None };
    let packet = parse(&frame, Tunnel::Outer).map_err(|reason| format!("not measured: {}", reason.name()))?;
    let spec = KeySpec::FIVE_TUPLE;
    let key = match packet.key {
        PacketKey::V4(key) => packet::Key::flow_key(&key, &spec),
        PacketKey::V6(key) => packet::Key::flow_key(&key, &spec),
    };
    println!("{key:?}\n{:?}", packet.fields);
    Ok(())
}

fn main() -> Result<(), String> {
    let digits: String = std::env::args().skip(1).collect();
    show(if digits.is_empty() { FRAME } else { &digits })
}

#[cfg(test)]
#[test]
fn a_frame_is_parsed_and_one_without_an_address_is_named() {
    show(FRAME).expect("a UDP packet");
    assert_eq!(show("0200000000020200000000010806").expect_err("ARP"), "not measured: arp");
    assert_eq!(show("xy").expect_err("no digits"), "'x' is no hexadecimal digit");
}
