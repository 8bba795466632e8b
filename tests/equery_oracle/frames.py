"""Builds frames byte by byte, and writes captures of them."""

import ipaddress
import struct

TAG = 0x8100


def packed(address):
    """The bytes of an address."""
    return ipaddress.ip_address(address).packed


def mac_of(address):
    """A MAC address that follows from an IP address, so that a flow keeps its own; that of `::1` and loopback is all zero."""
    address = ipaddress.ip_address(address)
    if address.is_loopback:
        return bytes(6)
    return b"\x02\x00" + (int(address) * 2654435761 & 0xFFFFFFFF).to_bytes(4, "big")


def tcp(sport, dport, payload=0, seq=0, ack=0, flags=16, win=1024):
    """A TCP segment."""
    return struct.pack(">HHIIBBHHH", sport, dport, seq, ack, 0x50, flags, win, 0, 0) + bytes(payload)


def udp(sport, dport, payload=0):
    """A UDP or UDP-Lite datagram."""
    return struct.pack(">HHHH", sport, dport, 8 + payload, 0) + bytes(payload)


def sctp(sport, dport, payload=0):
    """An SCTP packet without chunks that mean anything."""
    return struct.pack(">HHII", sport, dport, 1, 0) + bytes(payload)


def icmp(kind, code=0, payload=8):
    """An ICMP or ICMPv6 message."""
    return struct.pack(">BBHI", kind, code, 0, 0) + bytes(payload)


def ip(src, dst, protocol, body, ttl=64, tos=0, offset=0, more=False, extensions=(), label=0):
    """An IP packet; `offset` is that of a fragment in units of 8 bytes, `extensions` are IPv6 header types, `label` is the IPv6 flow label."""
    if ipaddress.ip_address(src).version == 4:
        fragment = offset | (0x2000 if more else 0)
        fields = (0x45, tos, 20 + len(body), 7, fragment, ttl, protocol, 0)
        return struct.pack(">BBHHHBBH", *fields) + packed(src) + packed(dst) + body
    chain, following = b"", protocol
    if offset or more:
        chain = struct.pack(">BBHI", following, 0, offset << 3 | more, 7)
        following = 44
    for kind in reversed(extensions):
        chain = struct.pack(">BB", following, 0) + bytes([1, 4, 0, 0, 0, 0]) + chain
        following = kind
    word = 6 << 28 | tos << 20 | label
    return struct.pack(">IHBB", word, len(chain) + len(body), following, ttl) + packed(src) + packed(dst) + chain + body


def ethernet(packet, vlans=(), smac=None, dmac=None):
    """A frame of an IP packet, padded to 60 bytes; its MAC addresses follow from those of the packet."""
    is_v4 = packet[0] >> 4 == 4
    source, target = (packet[12:16], packet[16:20]) if is_v4 else (packet[8:24], packet[24:40])
    smac = mac_of(source) if smac is None else smac
    dmac = mac_of(target) if dmac is None else dmac
    tags = b"".join(struct.pack(">HH", TAG, vlan) for vlan in vlans)
    return (dmac + smac + tags + (b"\x08\x00" if is_v4 else b"\x86\xdd") + packet).ljust(60, b"\0")


def arp(sender, target):
    """An ARP request."""
    body = struct.pack(">HHBBH", 1, 0x0800, 6, 4, 1) + mac_of(sender) + packed(sender) + bytes(6) + packed(target)
    return (b"\xff" * 6 + mac_of(sender) + b"\x08\x06" + body).ljust(60, b"\0")


def lldp():
    """An LLDP frame without content."""
    return (bytes.fromhex("0180c200000e") + b"\x02\0\0\0\0\1" + b"\x88\xcc").ljust(60, b"\0")


def write(path, timed, nanoseconds=True, snap=262144):
    """Writes frames with their times (nanoseconds) as a pcap file."""
    magic, scale = (0xA1B23C4D, 1) if nanoseconds else (0xA1B2C3D4, 1000)
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", magic, 2, 4, 0, 0, snap, 1))
        for time, frame in timed:
            cut = frame[:snap]
            seconds, part = divmod(time, 1_000_000_000)
            file.write(struct.pack("<IIII", seconds, part // scale, len(cut), len(frame)) + cut)
