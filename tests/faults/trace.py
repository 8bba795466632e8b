"""The trace: which frames are sent in which second, and what must be counted of them."""

import random
import socket
import struct
import time

SECONDS = 36
# Faults begin in these seconds of the trace, and are over some seconds before its end.
FIRST, LAST = 5, 16
# Frames are sent so long after their second began: windows are the same whatever the clocks are late by.
PHASE = 0.3
LATEST = 0.85
FLOOD = 400
FLOODS = (9, 20, 30)
NEAR, FAR = "near", "far"

QUERIES = """all: select sum(total_count) as n every 1s;
each: select src_port, sum(total_count) as n groupby src_port every 1s;
who: select src_port, sum(total_count) as n where node_id = far groupby src_port limit 5 every 1s when all.n > %d;
""" % (FLOOD // 2)


class Late(Exception):
    """The machine was too slow to send frames in their second: the run says nothing."""


def counts():
    """Of each second: frames by source port. The same in every run."""
    draw = random.Random(34)
    seconds = []
    for second in range(SECONDS):
        ports = {1000 + second: 1 + draw.randrange(20), 5000: 1 + draw.randrange(20), 6000 + draw.randrange(50): 7}
        if second in FLOODS:
            ports[7000] = FLOOD
        seconds.append(ports)
    return seconds


def frame(port):
    """UDP from 10.0.0.1 to 10.0.0.2."""
    udp = struct.pack(">HHHH", port, 9, 8 + 18, 0) + bytes(18)
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0, socket.inet_aton("10.0.0.1"), socket.inet_aton("10.0.0.2"))
    total = sum(struct.unpack(">10H", ip))
    total = (total & 0xFFFF) + (total >> 16)
    checksum = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    ip = ip[:10] + struct.pack(">H", checksum) + ip[12:]
    return bytes.fromhex("020000000001020000000002") + b"\x08\x00" + ip + udp


def send(start):
    """Sends the trace, whose first second begins at `start`."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as out:
        out.bind((FAR, 0))
        for second, ports in enumerate(counts()):
            begin = start + second
            time.sleep(max(0.0, begin + PHASE - time.time()))
            for port, number in ports.items():
                data = frame(port)
                for _ in range(number):
                    out.send(data)
            if not begin < time.time() < begin + LATEST:
                raise Late(f"second {second} was sent {time.time() - begin:.2f} s after it began")
