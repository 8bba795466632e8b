"""Questions whose answers differ if an engine takes two addresses for one, orders otherwise, or rounds otherwise: over packets made for them."""

import ipaddress
import struct

# 10.0.0.1 and ::ffff:10.0.0.1 are two; ::1 and ::2 are below ::ffff:0:0, where the bytes of IPv4 begin.
PACKETS = [
    # Seconds, source, destination, protocol, ports, length, and the VLAN of a tagged one.
    (0, "10.0.0.1", "10.0.0.9", 6, 1000, 80, 100),
    (0, "::ffff:10.0.0.1", "::ffff:10.0.0.9", 6, 1000, 80, 120),
    (1, "10.0.0.1", "10.0.0.9", 17, 1000, 53, 100),
    (1, "::1", "::2", 17, 1000, 53, 100),
    (2, "::ffff:10.0.0.1", "::ffff:10.0.0.9", 50, 0, 0, 80),
    (2, "::2", "::1", 6, 53, 1000, 100),
    (3, "10.0.0.2", "10.0.0.9", 6, 1001, 80, 100),
    (3, "10.0.0.3", "10.0.0.9", 6, 1002, 80, 100),
    (4, "10.0.0.2", "10.0.0.8", 6, 1003, 443, 100),
    (4, "10.0.0.4", "10.0.0.8", 1, 0, 0, 60),
    (5, "10.0.0.3", "10.0.0.8", 6, 1004, 443, 100),
    (5, "10.0.0.4", "10.0.0.9", 50, 0, 0, 100),
    (9, "10.0.0.9", "10.0.0.1", 6, 80, 1000, 60),
    # The first packet has no tag, and a later one has.
    (0, "10.0.0.5", "10.0.0.9", 17, 2000, 53, 100),
    (9, "10.0.0.5", "10.0.0.9", 17, 2000, 53, 100, 5),
    (30, "10.0.0.5", "10.0.0.9", 17, 2000, 53, 100, 5),
]

QUESTIONS = [
    "select src_addr, count(*), sum(total_byte) groupby src_addr",
    "select src_addr, dst_addr, count(*) as n groupby src_addr, dst_addr order by src_addr desc, dst_addr",
    "select addr, sum(total_byte) as b groupby addr order by addr limit 3",
    "select conversation, sum(total_byte * forward) as b groupby conversation order by b",
    "select count(distinct src_addr), count(dst_addr/8), count(src_addr/32/128)",
    "select top(3, src_addr), top(9, dst_addr/24), top(2, src_addr, count(*))",
    "select entropy(src_addr), entropy(dst_addr/24, total_byte)",
    "select count(*) where src_addr = 10.0.0.1",
    "select count(*) where src_addr in ::ffff:10.0.0.0/104 or addr = ::1",
    "select count(*) where src_addr in 0.0.0.0/0",
    "select count(*) where addr not in (::/0)",
    "select dst_addr, count(*) groupby dst_addr having dst_addr in 10.0.0.0/8",
    "select dst_addr, count(*) groupby dst_addr having dst_addr in ::/0",
    "select src_addr, dst_addr, total_byte order by src_addr, dst_addr, total_byte",
    # Prefixes, also those that leave nothing out.
    "select dst_addr/32, count(*) groupby dst_addr/32",
    "select src_addr/32/128, count(*) groupby src_addr/32/128",
    "select src_addr/24/64, dst_addr/8, count(*) groupby src_addr/24/64, dst_addr/8 order by src_addr/24/64",
    "select addr/31/127, count(dst_addr/32) groupby addr/31/127",
    # What is shown decides.
    "select protocol_name, total_count, src_addr order by protocol_name, src_addr limit 2",
    "select service, src_addr order by service desc, src_addr limit 4",
    "select protocol_name, count(*) groupby protocol_name order by protocol_name desc limit 2",
    # Of nothing, and of equal shares.
    "select rate(total_byte), sum(total_byte), count(*), avg(total_byte), max(total_byte) where dst_port = 9",
    "select src_addr, rate(ploss_byte) as r, entropy(dst_addr, ploss_byte) as e groupby src_addr having r >= 0",
    "select src_addr, entropy(dst_addr) as e groupby src_addr order by e desc limit 3",
    "select dst_addr, entropy(src_addr) as e groupby dst_addr having e = 1 or e = 2 order by e",
    "select max(ltime) - min(stime) as span, max(duration)",
    "select first_vlan, count(*), sum(total_byte) groupby first_vlan",
    "select count(*) where first_vlan is null",
    # Values that whole flows have, numbers and others.
    "select top(3, first_vlan), top(2, last_ip_ttl, count(*)), top(2, any_tcp_flags), top(2, last_tcp_win)",
    "select src_addr, top(2, first_vlan) groupby src_addr order by src_addr",
    "select top(2, first_smac), top(2, duration, count(*)), top(2, protocol_name), top(3, src_port)",
    "select src_addr, vlan, ip_ttl, tcp_flags order by src_addr, total_byte",
]


def frame(source, destination, protocol, from_port, to_port, length, vlan=None):
    """An Ethernet frame with an IP packet of this length."""
    source, destination = ipaddress.ip_address(source), ipaddress.ip_address(destination)
    payload = b""
    if protocol == 6:
        payload = struct.pack("!HHIIBBHHH", from_port, to_port, 1, 1, 0x50, 16, 1000, 0, 0)
    elif protocol == 17:
        payload = struct.pack("!HHHH", from_port, to_port, length - (20 if source.version == 4 else 40), 0)
    elif protocol == 1:
        payload = bytes([8, 0, 0, 0, 0, 0, 0, 0])
    if source.version == 4:
        header = struct.pack("!BBHHHBBH", 0x45, 0, length, 0, 0, 64, protocol, 0)
        kind = 0x0800
    else:
        header = struct.pack("!IHBB", 6 << 28, length - 40, protocol, 64)
        kind = 0x86DD
    packet = header + source.packed + destination.packed + payload
    tag = b"" if vlan is None else struct.pack("!HH", 0x8100, vlan)
    return bytes([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]) + tag + struct.pack("!H", kind) + packet.ljust(length, b"\0")


def capture(path):
    """Writes the packets."""
    start = 1_767_225_600
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for number, (second, *rest) in enumerate(sorted(PACKETS, key=lambda packet: packet[0])):
            data = frame(*rest)
            file.write(struct.pack("<IIII", start + second, 1000 * number, len(data), len(data)) + data)
    return path
