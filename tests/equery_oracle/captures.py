"""The captures that queries are answered over: each by name, with what makes it."""

import os
import random
import subprocess
from pathlib import Path

from . import frames
from .frames import arp, ethernet, icmp, ip, lldp, sctp, tcp, udp

SECOND = 1_000_000_000
START = 1_704_067_200 * SECOND  # a multiple of every window length in use
CLIENTS = [f"10.0.{net}.{host}" for net in (0, 1, 7) for host in (1, 2, 3, 77, 200)] + ["172.16.5.9", "127.0.0.1"]
SERVERS = ["192.0.2.10", "192.0.2.11", "198.51.100.7", "203.0.113.80", "10.0.0.1"]
CLIENTS_V6 = [f"2001:db8:{net:x}::{host:x}" for net in (0, 1, 0xABC) for host in (1, 2, 0x77)] + ["fe80::1"]
SERVERS_V6 = ["2001:db8:8000::10", "2001:db8:8000::11", "2001:db8:0:1::1", "::1"]
SERVICES = [443, 443, 80, 53, 22, 123, 8080, 1000, 51820, 0]
VLANS = [(), (), (), (5,), (100,), (4094,), (0,), (7, 9)]


class Flow:
    """One direction of a key, with values of its own that change from packet to packet."""

    def __init__(self, draw, v6=None, protocol=None, ends=None, ports=None):
        v6 = draw.random() < 0.3 if v6 is None else v6
        self.src, self.dst = ends or (
            draw.choice(CLIENTS_V6 if v6 else CLIENTS),
            draw.choice(SERVERS_V6 if v6 else SERVERS),
        )
        self.protocol = protocol or draw.choice([6, 6, 6, 17, 17, 58 if v6 else 1])
        self.ports = ports or (draw.choice([draw.randrange(49152, 49200), 5353]), draw.choice(SERVICES))
        self.vlans = VLANS[hash_of(self.src, self.dst) % len(VLANS)]
        self.ttl = draw.choice([1, 57, 64, 128, 255])
        self.label = draw.choice([0, 1, 0xFFFFF, draw.randrange(1 << 20)])
        self.seq = draw.randrange(1 << 32)
        self.packets = 0

    def reversed(self, draw):
        """The other direction."""
        v6 = ":" in self.src
        return Flow(draw, v6, self.protocol, (self.dst, self.src), (self.ports[1], self.ports[0]))

    def body(self, draw):
        """What follows the IP header."""
        payload = draw.choice([0, 0, 1, 17, 64, 500, 1200, draw.randrange(1460)])
        if self.protocol == 6:
            flags = 2 if self.packets == 0 else draw.choice([16, 16, 16, 24, 17, 4, 0x52, 0])
            self.seq = (self.seq + payload) % (1 << 32)
            ack, win = draw.randrange(1 << 32), draw.choice([0, 1, 512, 8192, 65535])
            return tcp(*self.ports, payload, self.seq, ack, flags, win)
        if self.protocol in (17, 136):
            return udp(*self.ports, payload)
        if self.protocol == 132:
            return sctp(*self.ports, payload)
        if self.protocol in (1, 58):
            kinds = [(8, 0), (0, 0), (3, 1), (3, 3), (11, 0)] if self.protocol == 1 else [(128, 0), (129, 0), (1, 4), (135, 0)]
            # Type and code are the key: a flow keeps its own.
            return icmp(*kinds[self.ports[0] % len(kinds)], payload)
        # IPv6 without payload would state a length of zero, which means another thing.
        return bytes(max(payload, 1))

    def frame(self, draw, **more):
        """The flow's next frame."""
        if draw.random() < 0.1:
            self.ttl = draw.choice([1, 57, 64, 128, 255])
        if draw.random() < 0.02:
            self.label = draw.randrange(1 << 20)
        tos = draw.choice([0, 0, 0, 4, 184])
        body = self.body(draw)
        self.packets += 1
        return ethernet(ip(self.src, self.dst, self.protocol, body, self.ttl, tos, label=self.label, **more), self.vlans)


def hash_of(*parts):
    """A number that follows from the parts in every run."""
    return sum(ord(letter) * (at + 7) for at, letter in enumerate(str(parts)))


def random_times(draw, count, start, end):
    """Times in order."""
    return sorted(draw.randrange(start, end) for _ in range(count))


def mixed(draw):
    """Both families, tagged and untagged, TCP, UDP and ICMP; first and last windows are cut."""
    flows = [Flow(draw) for _ in range(60)]
    times = random_times(draw, 2500, START + 3_700_000_123, START + 48 * SECOND + 17)
    return [(time, draw.choice(flows).frame(draw)) for time in times]


def long_flows(draw):
    """Flows that are longer than several windows of ten seconds, and than the active timeout."""
    flows = [Flow(draw) for _ in range(12)]
    timed = []
    for at, flow in enumerate(flows):
        step = (at + 1) * 137_000_011
        timed += [(START + time, flow) for time in range(at * 1_000, 95 * SECOND, step)]
    return [(time, flow.frame(draw)) for time, flow in sorted(timed, key=lambda entry: entry[0])]


def gaps(draw):
    """Bursts between which several windows are empty; the last gap is longer than an hour."""
    flows = [Flow(draw) for _ in range(15)]
    times = []
    for begin in (2, 40, 43, 118, 260, 8000):
        begin = START + begin * SECOND
        times += random_times(draw, 120, begin, begin + 3 * SECOND)
    return [(time, draw.choice(flows).frame(draw)) for time in times]


def single_packets(draw):
    """Flows of one packet each, as a scan makes them."""
    timed = []
    for at, time in enumerate(random_times(draw, 1500, START, START + 33 * SECOND)):
        flow = Flow(draw, False, 6, ("198.51.100.7", f"10.0.{at % 3}.{at % 250 + 1}"), (40000 + at, 22 if at % 3 else at))
        timed.append((time, flow.frame(draw)))
    return timed


def portless(draw):
    """Protocols without ports, ports that are 0, fragments, SCTP and UDP-Lite."""
    flows = [Flow(draw, protocol=protocol) for protocol in (47, 50, 89, 2, 103, 255, 253, 132, 136) for _ in range(2)]
    flows += [Flow(draw, protocol=protocol, ports=(0, 0)) for protocol in (6, 17)]
    timed = []
    for time in random_times(draw, 900, START + SECOND // 2, START + 27 * SECOND):
        flow = draw.choice(flows)
        fragment = draw.random()
        more = {"offset": 185} if fragment < 0.1 else {"more": True} if fragment < 0.2 else {}
        timed.append((time, flow.frame(draw, **more)))
    return timed


def broadcast(draw):
    """Broadcast, multicast, and a source without an address yet."""
    ends = [
        ("0.0.0.0", "255.255.255.255"),
        ("10.0.0.1", "10.0.0.255"),
        ("10.0.0.2", "224.0.0.251"),
        ("fe80::1", "ff02::1"),
        ("::", "ff02::16"),
        ("255.255.255.255", "0.0.0.0"),
    ]
    flows = [Flow(draw, ":" in src, 17, (src, dst), draw.choice([(68, 67), (5353, 5353)])) for src, dst in ends]
    times = random_times(draw, 400, START + 9 * SECOND, START + 31 * SECOND)
    return [(time, draw.choice(flows).frame(draw)) for time in times]


def both_directions(draw):
    """Conversations with the same packets in both directions, and flows of an address to itself."""
    flows = []
    for _ in range(20):
        flow = Flow(draw, protocol=draw.choice([6, 17]))
        flows.append((flow, flow.reversed(draw)))
    for v6, address in ((False, "10.0.1.1"), (True, "2001:db8:1::1"), (False, "127.0.0.1"), (True, "::1")):
        flow = Flow(draw, v6, 17, (address, address), (53, 53))
        flows.append((flow, flow))
    timed = []
    for time in random_times(draw, 700, START + 123, START + 52 * SECOND):
        one, other = draw.choice(flows)
        for direction in (one, other):
            body = udp(*direction.ports, 99) if direction.protocol == 17 else tcp(*direction.ports, 99)
            timed.append((time, ethernet(ip(direction.src, direction.dst, direction.protocol, body), direction.vlans)))
    return timed


def aligned(draw):
    """Packets exactly at the bounds of windows: the first one at a beginning, the last one a nanosecond before an end."""
    flows = [Flow(draw) for _ in range(5)]
    times = [START]
    for second in range(1, 30):
        times += [START + second * SECOND - 1, START + second * SECOND]
    times.append(START + 30 * SECOND - 1)
    return [(time, flow.frame(draw)) for time in times for flow in flows]


def unmeasured(draw):
    """Frames that are no IP packets among others; some windows hold nothing else."""
    flows = [Flow(draw) for _ in range(10)]
    timed = []
    for time in random_times(draw, 600, START + 5 * SECOND, START + 70 * SECOND):
        second = (time - START) // SECOND
        others = [arp("10.0.0.1", "10.0.0.2"), lldp()]
        is_other = second in range(20, 30) or second >= 60 or draw.random() < 0.2
        timed.append((time, draw.choice(others) if is_other else draw.choice(flows).frame(draw)))
    return timed


def backwards(draw):
    """Times that go back within a second."""
    flows = [Flow(draw) for _ in range(10)]
    seconds = sorted(draw.randrange(2, 40) for _ in range(500))
    times = [START + second * SECOND + draw.randrange(SECOND) for second in seconds]
    return [(time, draw.choice(flows).frame(draw)) for time in times]


def extensions(draw):
    """IPv6 with extension headers and fragments."""
    flows = [Flow(draw, True) for _ in range(25)]
    timed = []
    for time in random_times(draw, 800, START + 42, START + 25 * SECOND):
        chain = draw.choice([(), (0,), (60,), (0, 60)])
        fragment = draw.random()
        more = {"offset": 100} if fragment < 0.1 else {"more": True} if fragment < 0.2 else {}
        timed.append((time, draw.choice(flows).frame(draw, extensions=chain, **more)))
    return timed


def one_packet(draw):
    """One packet."""
    return [(START + 7_654_321_987, Flow(draw, False, 6).frame(draw))]


def sparse(draw):
    """A packet every seven seconds: most windows of a second are empty, and flows idle longer than their timeout."""
    flows = [Flow(draw) for _ in range(4)]
    return [(START + step * 7_000_000_001, draw.choice(flows).frame(draw)) for step in range(45)]


def ties(draw):
    """Many flows with the same counts."""
    flows = [Flow(draw, False, 17, (client, server), (50000, port)) for client in CLIENTS for server in SERVERS for port in (53, 443)]
    timed = []
    for second in range(12):
        for at, flow in enumerate(draw.sample(flows, len(flows))):
            body = udp(*flow.ports, 100)
            timed.append((START + second * SECOND + at * 1000, ethernet(ip(flow.src, flow.dst, 17, body), flow.vlans)))
    return timed


WRITTEN = [
    mixed,
    long_flows,
    gaps,
    single_packets,
    portless,
    broadcast,
    both_directions,
    aligned,
    unmeasured,
    backwards,
    extensions,
    one_packet,
    sparse,
    ties,
]

GENERATED = [
    ("generated_mixed", "packets=12k,flows=3k,ipv6=20%,rate=500,size=64:7/594:4/1518:1,plant=flood:sources=400/scan:targets=100/elephant"),
    ("generated_handshakes", "packets=6k,flows=400,ipv6=40%,rate=200,tcp=handshake:5,start=1704067203.25"),
    ("generated_many_flows", "packets=30k,flows=40k,zipf=uniform,rate=2k,start=1704067205.5"),
]

REAL = ["zeek/wikipedia.pcap", "zeek/http/methods.pcap", "zeek/ip6_esp.pcap"]

# Times that go back mean something else to each receiver of several.
ONE_RECEIVER = {"backwards"}


def make(folder, count, seed, edison):
    """The first `count` captures, as pairs of a name and a path; beyond the named ones they are `mixed` with other seeds."""
    makers = [(build.__name__, lambda path, build=build: write(path, build, seed)) for build in WRITTEN]
    makers += [(name, lambda path, spec=spec: generate(path, spec, edison)) for name, spec in GENERATED]
    data = os.environ.get("EDISON_TEST_DATA")
    if data:
        real = [Path(data) / "pcap" / name for name in REAL]
        makers += [(path.name, lambda _, path=path: path) for path in real if path.exists()]
    for more in range(count - len(makers)):
        makers.append((f"mixed_{more + 1}", lambda path, more=more: write(path, mixed, f"{seed} {more}")))
    return [(name, maker(folder / f"{name}.pcap")) for name, maker in makers[:count]]


def write(path, build, seed):
    """Writes a capture of frames that `build` makes."""
    frames.write(path, build(random.Random(f"{seed} {build.__name__}")))
    return path


def generate(path, spec, edison):
    """Has the program generate a capture."""
    subprocess.run([edison, "generate", path, spec], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    path.with_name(path.name + ".truth.json").unlink()
    return path
