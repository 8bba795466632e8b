//! What a live capture keeps of a frame suffices for all headers that are parsed.

use packet::{Frame, LinkType, Tunnel, parse};
use port::InterfaceOptions;

/// Bytes in front of others.
fn before(head: &[u8], rest: &[u8]) -> Vec<u8> {
    [head, rest].concat()
}

fn ipv6(next: u8, last: u8, payload: &[u8]) -> Vec<u8> {
    let [high, low] = (payload.len() as u16).to_be_bytes();
    let mut header = vec![0x60, 0, 0, 0, high, low, next, 64];
    for address in [1, last] {
        header.extend([0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, address]);
    }
    before(&header, payload)
}

fn ethernet(kind: u16, payload: &[u8]) -> Vec<u8> {
    before(&[&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1][..], &kind.to_be_bytes()].concat(), payload)
}

/// VXLAN in UDP in IPv6.
fn tunnelled(frame: &[u8]) -> Vec<u8> {
    let vxlan = before(&[8, 0, 0, 0, 0, 0, 1, 0], frame);
    let [high, low] = (vxlan.len() as u16 + 8).to_be_bytes();
    ipv6(17, 2, &before(&[0x30, 0, 0x12, 0xb5, high, low, 0, 0], &vxlan))
}

#[test]
fn the_deepest_headers_are_kept() {
    // TCP with 40 bytes of options, the last of which are time stamps, and a kilobyte of payload.
    let mut tcp = vec![0x03, 0xe8, 0x01, 0xbb, 1, 2, 3, 4, 5, 6, 7, 8, 0xf0, 0x18, 0x12, 0x34, 0, 0, 0, 0];
    tcp.extend([1; 30]);
    tcp.extend([8, 10, 1, 2, 3, 4, 5, 6, 7, 8]);
    let headers = tcp.len();
    tcp.resize(headers + 1_024, 7);
    // Hop-by-hop options, a routing header, destination options: 8, 24 and 16 bytes.
    let mut extensions = vec![43, 0, 1, 4, 0, 0, 0, 0];
    extensions.extend([60, 2, 4, 0]);
    extensions.extend([0; 20]);
    extensions.extend([6, 1, 1, 12]);
    extensions.extend([0; 12]);
    let mut packet = ipv6(0, 9, &before(&extensions, &tcp));
    for _ in 0..3 {
        packet = tunnelled(&ethernet(0x86dd, &packet));
    }
    // Two tags, and four labels of which the last has the bottom of the stack.
    let labels = [0, 1, 0, 64, 0, 1, 0, 64, 0, 1, 0, 64, 0, 1, 1, 64];
    let tags = [0x00, 5, 0x81, 0, 0x00, 6, 0x88, 0x47];
    let frame = ethernet(0x88a8, &[&tags[..], &labels, &packet].concat());
    let kept = InterfaceOptions::default().snaplen;
    let needed = frame.len() - 1_024;
    assert!(needed > 256 && needed <= kept, "{needed} {kept}");
    let of = |data| Frame {
        data,
        wire_len: frame.len() as u32,
        time_ns: 1,
        link: LinkType::Ethernet,
        stripped_vlan: None,
    };
    let whole = parse(&of(&frame), Tunnel::Inner).expect("it is measured");
    assert!(
        whole.inner.is_none() && whole.ports.is_none() && whole.fields.total_byte == 40 + 48 + 60 + 1_024
    );
    assert_eq!(parse(&of(&frame[..kept]), Tunnel::Inner), Ok(whole));
}
