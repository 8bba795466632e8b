"""Values of answers and of engines, as they are compared."""

import ipaddress
import math
import re

from equery_oracle.answers import nanoseconds

PROTOCOLS = {1: "icmp", 6: "tcp", 17: "udp", 58: "icmp6"}


def address(octets):
    """An address of 16 octets, of which IPv4 is mapped, also behind an octet with its family."""
    octets = bytes(octets)
    found = ipaddress.IPv6Address(octets[-16:])
    return found if octets[:-16] == b"\x06" else found.ipv4_mapped or found


CONVERSATION = re.compile(r"([0-9A-F]{34}) (\d+) ([0-9A-F]{34}) (\d+) (\d+)")


def text(value):
    """A text; that of a 5-tuple without its direction as the program writes it."""
    found = CONVERSATION.fullmatch(value)
    if not found:
        return value
    one, one_port, other, other_port, protocol = found.groups()
    ends = [(address(bytes.fromhex(one)), one_port), (address(bytes.fromhex(other)), other_port)]
    texts = [f"[{end}]:{port}" if end.version == 6 else f"{end}:{port}" for end, port in ends]
    return f"{texts[0]} <-> {texts[1]} {PROTOCOLS.get(int(protocol), protocol)}"


def of_engine(value, column):
    """A value that an engine computed, of a column of the answer."""
    kind = column["kind"]
    if value is None or isinstance(value, float) and math.isnan(value):
        return None
    if kind in ("address", "prefix"):
        return str(address(value))
    if kind == "heaviest":
        return tuple(int(item["weight"]) for item in value)
    if kind in ("unsigned", "signed", "time", "estimate"):
        return int(value)
    if kind == "float":
        return float(value)
    return text(str(value))


def of_answer(value, column):
    """A value of the program's answer."""
    kind = column["kind"]
    if value is None:
        return None
    if kind == "time":
        return nanoseconds(value)
    if kind == "prefix":
        return str(ipaddress.ip_network(value).network_address)
    if kind == "address":
        return str(ipaddress.ip_address(value))
    if kind == "heaviest":
        # Which of equal values are among the first is each engine's own choice.
        return tuple(int(item["weight"]) for item in value["top"])
    if kind in ("unsigned", "signed"):
        return int(value)
    return float(value) if kind == "float" else str(value)


def are_near(one, other):
    """Equal; floating point numbers to a part in 10^9."""
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= 1e-9 * max(1.0, abs(one), abs(other))
    return one == other


def are_same(one, other):
    """Members of answers that are equal; floating point numbers, whose sums have another order, are near."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(are_same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(are_same, one, other))
    return are_near(one, other)


def difference(some, others):
    """Where two sets of rows differ, if they do. Rows have whole values, then floating point numbers that need not be equal to the last bit."""

    def key(row):
        rounded = (round(value, 6) if isinstance(value, float) else value for value in row)
        return tuple((value is None, str(type(value)), value if value is not None else 0) for value in rounded)

    some, others = sorted(some, key=key), sorted(others, key=key)
    if len(some) != len(others):
        return f"{len(some)} rows and {len(others)}"
    for one, other in zip(some, others):
        if not all(map(are_near, one, other)):
            return f"{one} and {other}"
    return None
