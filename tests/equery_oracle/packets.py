"""Reads a capture file and takes its frames apart, without any of Edison's code.

A classic pcap file of Ethernet frames is understood, with VLAN tags, IPv4, IPv6 with extension headers, and fragments. Where a
frame holds what is not modelled here, `Unsupported` says so: such a capture is no oracle.
"""

import ipaddress
import struct
from typing import NamedTuple, Optional

HOUR_NS = 3_600_000_000_000
PORTS = (6, 17, 132, 136)
EXTENSIONS = (0, 43, 60)
AH = 51
FRAGMENT = 44


class Unsupported(Exception):
    """The capture holds something that this reader does not model."""


class Packet(NamedTuple):
    """A frame; `reason` says why it is not measured, and is empty where it is. Addresses are `4` or `6` and their bits."""

    number: int
    time_ns: int
    stream_ns: int
    reason: str
    src_addr: str = ""
    dst_addr: str = ""
    protocol: int = 0
    src_port: int = 0
    dst_port: int = 0
    ip_ttl: int = 0
    ip_tos: int = 0
    tcp_seq: int = 0
    tcp_ack: int = 0
    tcp_win: int = 0
    tcp_flags: int = 0
    total_byte: int = 0
    wire_byte: int = 0
    vlan: Optional[int] = None
    smac: Optional[str] = None
    dmac: Optional[str] = None
    flow_label: Optional[int] = None


def bits(address):
    """The family and the bits of an address, as bytes or as text."""
    address = ipaddress.ip_address(address)
    return f"{address.version}{int(address):0{address.max_prefixlen}b}"


def address_text(value):
    """The text of an address or of a prefix of one: `bits` backwards."""
    size = 32 if value[0] == "4" else 128
    number = int((value[1:] or "0").ljust(size, "0"), 2) if len(value) > 1 else 0
    kind = ipaddress.IPv4Address if size == 32 else ipaddress.IPv6Address
    text = str(kind(number))
    return text if len(value) == size + 1 else f"{text}/{len(value) - 1}"


def frames(path):
    """Time (nanoseconds), captured bytes and length on the wire of each frame of a pcap file."""
    data = path.read_bytes()
    for order, scale in (("<", 1000), (">", 1000), ("<", 1), (">", 1)):
        magic = 0xA1B2C3D4 if scale == 1000 else 0xA1B23C4D
        if struct.unpack_from(order + "I", data)[0] == magic:
            break
    else:
        raise Unsupported("not a pcap file")
    (link,) = struct.unpack_from(order + "I", data, 20)
    if link != 1:
        raise Unsupported(f"link type {link}")
    at = 24
    while at < len(data):
        if at + 16 > len(data):
            raise Unsupported("the file ends within a header")
        seconds, part, captured, length = struct.unpack_from(order + "IIII", data, at)
        at += 16
        if at + captured > len(data):
            raise Unsupported("the file ends within a frame")
        yield seconds * 1_000_000_000 + part * scale, data[at : at + captured], length
        at += captured


def stream_times(times):
    """Stream time at each frame: the latest so far, but a lone frame more than an hour ahead does not move it."""
    stream = None
    for at, time in enumerate(times):
        if stream is None:
            stream = time
        elif time > stream + HOUR_NS:
            following = times[at + 1] if at + 1 < len(times) else None
            if following is not None and following > stream + HOUR_NS:
                stream = time
        else:
            stream = max(stream, time)
        yield stream


def read(path):
    """The packets of a capture file, in the order of arrival."""
    captured = list(frames(path))
    streams = stream_times([time for time, _, _ in captured])
    packets = []
    for number, ((time, data, length), stream) in enumerate(zip(captured, streams)):
        fields = of_ethernet(data, length)
        reason = fields if isinstance(fields, str) else ""
        packets.append(Packet(number, time, stream, reason, **({} if reason else fields)))
    return packets


def mac(data):
    """The text of a MAC address; none where it is all zero."""
    return ":".join(f"{octet:02x}" for octet in data) if any(data) else None


def of_ethernet(data, length):
    """The fields of a frame, or the reason why it is not measured."""
    if len(data) < 14:
        raise Unsupported("a frame without a whole Ethernet header")
    at, vlan = 14, None
    (kind,) = struct.unpack_from(">H", data, 12)
    while kind in (0x8100, 0x88A8):
        if len(data) < at + 4:
            raise Unsupported("a VLAN tag that was cut")
        tag, kind = struct.unpack_from(">HH", data, at)
        vlan = tag & 0xFFF if vlan is None else vlan
        at += 4
    if kind in (0x0806, 0x8035):
        return "arp"
    if kind in (0x8847, 0x8848, 0x8864):
        raise Unsupported("MPLS or PPPoE")
    if kind not in (0x0800, 0x86DD):
        return "not_ip"
    parse = of_ipv4 if kind == 0x0800 else of_ipv6
    fields = parse(data[at:], length - at)
    if isinstance(fields, str):
        return fields
    return fields | {"wire_byte": length, "vlan": vlan, "smac": mac(data[6:12]), "dmac": mac(data[:6])}


def of_ipv4(data, length):
    """The fields of an IPv4 packet of which `length` bytes were on the wire."""
    if len(data) < 20 or data[0] >> 4 != 4 or data[0] & 15 < 5:
        raise Unsupported("a damaged IPv4 header")
    header = (data[0] & 15) * 4
    (total,) = struct.unpack_from(">H", data, 2)
    total = total or length
    if total > length or total < header:
        return "bad_length"
    (fragment,) = struct.unpack_from(">H", data, 6)
    fields = {
        "src_addr": bits(data[12:16]),
        "dst_addr": bits(data[16:20]),
        "ip_ttl": data[8],
        "ip_tos": data[1],
        "total_byte": total,
    }
    return fields | of_transport(data[9], data[header:total], total - header, fragment & 0x1FFF != 0)


def of_ipv6(data, length):
    """The fields of an IPv6 packet of which `length` bytes were on the wire."""
    if len(data) < 40 or data[0] >> 4 != 6:
        raise Unsupported("a damaged IPv6 header")
    word, payload, following, limit = struct.unpack_from(">IHBB", data)
    if payload == 0 and following != 59:
        payload = length - 40
    total = 40 + payload
    if total > length:
        return "bad_length"
    fields = {
        "src_addr": bits(data[8:24]),
        "dst_addr": bits(data[24:40]),
        "ip_ttl": limit,
        "ip_tos": word >> 20 & 0xFF,
        "flow_label": word & 0xFFFFF,
        "total_byte": total,
    }
    rest, later = data[40:total], False
    while following in (*EXTENSIONS, FRAGMENT) and not later:
        if len(rest) < 8:
            raise Unsupported("an extension header that was cut")
        if following == FRAGMENT:
            later = struct.unpack_from(">H", rest, 2)[0] >> 3 != 0
            size = 8
        else:
            size = (rest[1] + 1) * 8
        following, rest = rest[0], rest[size:]
    return fields | of_transport(following, rest, len(rest), later)


def of_transport(protocol, data, length, is_later_fragment):
    """Protocol, ports and what TCP says; `length` bytes of it were on the wire."""
    if protocol == AH and not is_later_fragment:
        if len(data) < 12:
            raise Unsupported("an authentication header that was cut")
        size = (data[1] + 2) * 4
        return of_transport(data[0], data[size:], length - size, False)
    fields = {"protocol": protocol}
    if is_later_fragment:
        return fields
    if protocol in PORTS:
        if len(data) < 4:
            raise Unsupported("ports that were cut")
        fields["src_port"], fields["dst_port"] = struct.unpack_from(">HH", data)
    if protocol in (1, 58):
        if len(data) < 2:
            raise Unsupported("an ICMP header that was cut")
        fields["dst_port"] = data[0] * 256 + data[1]
    if protocol == 6:
        if len(data) < 20:
            raise Unsupported("a TCP header that was cut")
        seq, ack, _, flags, win = struct.unpack_from(">IIBBH", data, 4)
        fields |= {"tcp_seq": seq, "tcp_ack": ack, "tcp_flags": flags, "tcp_win": win}
    return fields


def unstable_flow(packets):
    """A key whose VLAN or MAC addresses change within it, if any: which ones a row has is not the packets' alone."""
    seen = {}
    for packet in packets:
        if not packet.reason:
            link = (packet.vlan, packet.smac, packet.dmac)
            if seen.setdefault(packet[4:9], link) != link:
                return packet[4:9]
    return None
