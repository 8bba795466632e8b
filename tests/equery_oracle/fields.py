"""The fields of window rows: how queries name them, and what they are in the table of rows."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PROTOCOLS = {
    1: "icmp", 2: "igmp", 4: "ipip", 6: "tcp", 17: "udp", 41: "6in4", 47: "gre", 50: "esp", 51: "ah", 58: "icmp6",
    89: "ospf", 103: "pim", 112: "vrrp", 132: "sctp", 136: "udplite",
}  # fmt: skip


class Field(NamedTuple):
    """A field; `kind` is `address`, `integer`, `float`, `text`, `time` or `mac`. `usual` are other names of it."""

    name: str
    kind: str
    nullable: bool = False
    usual: tuple = ()


ADDRESSES = [
    Field("src_addr", "address", usual=("srcip", "src_ip", "saddr")),
    Field("dst_addr", "address", usual=("dstip", "dst_ip", "daddr")),
]
KEY_NUMBERS = [
    Field("protocol", "integer", usual=("proto",)),
    Field("src_port", "integer", usual=("sport", "srcport")),
    Field("dst_port", "integer", usual=("dport", "dstport")),
]
COUNTERS = [
    Field("total_count", "integer", usual=("packets",)),
    Field("total_byte", "integer", usual=("bytes",)),
    Field("wire_byte", "integer"),
]
LAST_VALUES = [
    Field("ip_ttl", "integer", usual=("ttl",)),
    Field("ip_tos", "integer", usual=("tos",)),
    Field("tcp_seq", "integer"),
    Field("tcp_ack", "integer"),
    Field("tcp_win", "integer"),
    Field("tcp_flags", "integer", usual=("flags",)),
]
VLAN = Field("vlan", "integer", True)
# What flows have of fields in which their packets may differ.
OF_FLOWS = [
    Field("last_ip_ttl", "integer"),
    Field("last_ip_tos", "integer"),
    Field("last_tcp_seq", "integer"),
    Field("last_tcp_win", "integer"),
    Field("any_tcp_flags", "integer"),
    Field("first_vlan", "integer", True),
]
# The names of columns where a query has a row for each flow.
OF_FLOW = {
    "ip_ttl": "last_ip_ttl",
    "ip_tos": "last_ip_tos",
    "tcp_seq": "last_tcp_seq",
    "tcp_ack": "last_tcp_ack",
    "tcp_win": "last_tcp_win",
    "tcp_flags": "any_tcp_flags",
    "vlan": "first_vlan",
    "smac": "first_smac",
    "dmac": "first_dmac",
}
# Header fields of all packets of a flow.
HEADERS = [Field("flow_label", "integer", True), Field("ip_ttl_min", "integer"), Field("ip_ttl_max", "integer")]
TIMES = [Field("stime", "time"), Field("ltime", "time")]
MACS = [Field("smac", "mac", True), Field("dmac", "mac", True)]
DURATION = Field("duration", "integer")
RATIOS = [Field("pps", "float", True), Field("bps", "float", True), Field("bytes_per_packet", "float", True)]
TEXTS = [Field("protocol_name", "text"), Field("service", "text", True), Field("conversation", "text")]
ADDR = Field("addr", "address")
PORT = Field("port", "integer")

ALL = [*ADDRESSES, *KEY_NUMBERS, *COUNTERS, *LAST_VALUES, VLAN, *HEADERS, *TIMES, *MACS, DURATION, *RATIOS, *TEXTS]
INTEGERS = [*KEY_NUMBERS, *COUNTERS, *LAST_VALUES, VLAN, *HEADERS, DURATION]
NAMED = {field.name: field for field in [*ALL, *OF_FLOWS, ADDR, PORT]}


def services():
    """Names of services by port: data of Edison's, not its logic."""
    text = (ROOT / "crates/flow/src/service.rs").read_text()
    return {int(port): name for port, name in re.findall(r'^    \((\d+), "([^"]+)"\),$', text, re.M)}


def protocol_name(protocol):
    """The protocol's name, or its number as text."""
    return PROTOCOLS.get(protocol, str(protocol))


def service(names, protocol, src_port, dst_port):
    """The service of a flow: by its destination port, else by its source port."""
    if protocol not in (6, 17, 132, 136):
        return None
    return names.get(dst_port) or names.get(src_port)


def conversation(src, src_port, dst, dst_port, protocol):
    """The key without direction; addresses come as bits, which are in the order of their bytes."""
    from .packets import address_text

    def text(address, port):
        shown = address_text(address)
        return f"[{shown}]:{port}" if address[0] == "6" else f"{shown}:{port}"

    ends = sorted([(src, src_port), (dst, dst_port)])
    return f"{text(*ends[0])} <-> {text(*ends[1])} {protocol_name(protocol)}"
