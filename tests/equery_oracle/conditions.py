"""Random conditions: on rows with values that the captures hold, and on groups."""

import datetime

from . import fields
from .language import Aggregate, Arithmetic, Condition, Literal, Name, address, integer
from .packets import address_text

COMPARISONS = ["=", "!=", "<", "<=", ">", ">="]
PATTERNS = ["%http%", "HTTP_", "s%", "_omain", "%", "udp", "%10.0.%", "%tcp", "%:443 %", "icmp%", "%[2001:DB8%"]


def sizes(draw):
    """A number of packets or bytes, small or large."""
    return draw.choice([0, 1, 2, 3, 5, 20, 40, 60, 99, 100, 500, 1000, 1500, 2500, 10_000, 100_000])


def quoted(text):
    """A text in quotes of either kind."""
    return Literal(f"'{text}'", (f"'{text}'", f'"{text}"'), "text")


def time(ns):
    """A time as text, to the nanosecond where it needs that."""
    seconds, part = divmod(ns, 1_000_000_000)
    shown = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    shown += f".{part:09}".rstrip("0").rstrip(".") if part else ""
    return Literal(str(ns), (f'"{shown}"', f"'{shown}Z'"), "time")


def span(ns):
    """A duration in nanoseconds."""
    units = [("ns", 1), ("us", 10**3), ("ms", 10**6), ("s", 10**9)]
    texts = tuple(f"{ns // unit}{name}" for name, unit in units if ns % unit == 0)
    return Literal(str(ns), texts, "integer")


class Conditions:
    """Draws conditions; `packets` are those that values are taken from."""

    def __init__(self, draw, packets):
        self.draw = draw
        self.packets = packets

    def packet(self):
        return self.draw.choice(self.packets)

    def prefix(self):
        """A prefix of an address that occurs, of any length."""
        value = self.draw.choice([self.packet().src_addr, self.packet().dst_addr])
        lengths = [8, 13, 16, 22, 24, 31, 0] if value[0] == "4" else [16, 32, 47, 64, 112, 0]
        return address(address_text(value[: self.draw.choice(lengths) + 1]))

    def whole(self):
        """A whole address that occurs, or one that does not."""
        value = self.draw.choice([self.packet().src_addr, self.packet().dst_addr])
        return address(self.draw.choice([*[address_text(value)] * 9, "192.0.2.254"]))

    def of_address(self):
        name = Name(self.draw.choice(["src_addr", "dst_addr", "addr"]))
        form = self.draw.random()
        if form < 0.35:
            operator = "=" if name.name == "addr" else self.draw.choice(["=", "=", "!="])
            return Condition("compare", (name, operator, self.whole()))
        if form < 0.45 and name.name != "addr":
            other = Name("dst_addr" if name.name == "src_addr" else "src_addr")
            return Condition("compare", (name, self.draw.choice(["=", "!="]), other))
        values = tuple(self.draw.choice([self.prefix, self.whole])() for _ in range(self.draw.choice([1, 1, 2, 3])))
        return Condition("in", (name, self.draw.random() < 0.3, values))

    def protocol(self):
        number = self.packet().protocol
        texts = [str(number)]
        if number in fields.PROTOCOLS:
            name = fields.PROTOCOLS[number]
            texts += [f'"{name}"'] + ([name, name.upper()] if name.isidentifier() else [])
        return Literal(str(number), tuple(texts), "integer")

    def number(self, name):
        """A value for an integer field: mostly one that occurs."""
        packet = self.packet()
        if name == "protocol":
            return self.protocol()
        if name == "duration":
            return span(self.draw.choice([0, 1, 250_000, 1_500_000, 10**9, 3 * 10**9 + 5 * 10**8, 10**10]))
        if name in ("total_count", "total_byte", "wire_byte"):
            return integer(sizes(self.draw))
        if name == "port":
            return integer(self.draw.choice([packet.src_port, packet.dst_port, 443, 53]))
        value = getattr(packet, "ip_ttl" if name in ("ip_ttl_min", "ip_ttl_max") else name)
        return integer(self.draw.choice([0, 5, 100, 4094]) if value is None else value)

    def of_integer(self):
        # What can change within a flow is counted by packets, which the flows of this oracle do not tell.
        names = [field.name for field in fields.INTEGERS if field not in [*fields.LAST_VALUES, fields.VLAN]]
        name = self.draw.choice([*names, "protocol", "total_byte", "port"])
        value = Name(name)
        form = self.draw.random()
        # Which ends a range or a `!=` on either port speaks of is left open.
        if name == "port":
            return Condition("compare", (value, self.draw.choice(["=", "<", ">"]), self.number(name)))
        if form < 0.2:
            values = tuple(self.number(name) for _ in range(self.draw.choice([1, 2, 3])))
            return Condition("in", (value, self.draw.random() < 0.3, values))
        if form < 0.35:
            low, high = sorted([self.number(name), self.number(name)], key=lambda literal: int(literal.sql))
            return Condition("between", (value, self.draw.random() < 0.3, low, high))
        if form < 0.45 and name in ("src_port", "dst_port", "wire_byte"):
            other = {"src_port": "dst_port", "dst_port": "src_port", "wire_byte": "total_byte"}[name]
            return Condition("compare", (value, self.draw.choice(COMPARISONS), Name(other)))
        return Condition("compare", (value, self.draw.choice(COMPARISONS), self.number(name)))

    def of_ratio(self):
        """Floating point numbers, compared with what none of them is."""
        total_byte, total_count = Name("total_byte"), Name("total_count")
        operator = self.draw.choice(["<", ">", ">=", "<="])
        left, texts = self.draw.choice(
            [
                (Name("pps"), ("10.37", "0.57", "3.1415pps")),
                (Name("bps"), ("5237.77", "1234.567bps", "20.34567kbps")),
                (Name("bytes_per_packet"), ("100.37", "59.99", "777.7")),
                (Arithmetic(total_byte, "/", total_count), ("100.37", "40.01")),
                (Arithmetic(Name("wire_byte"), "/", total_byte), ("1.237", "1.0007")),
            ]
        )
        text = self.draw.choice(texts)
        number = float(text.rstrip("kbps")) * (1000 if text.endswith("kbps") else 1)
        return Condition("compare", (left, operator, Literal(repr(number), (text,), "float")))

    def of_difference(self):
        left = Arithmetic(Name("wire_byte"), "-", Name("total_byte"))
        right = Arithmetic(integer(self.draw.choice([14, 18, 20])), "*", Name("total_count"))
        return Condition("compare", (left, self.draw.choice(COMPARISONS), right))

    def of_text(self):
        name = Name(self.draw.choice(["service", "service", "protocol_name", "conversation"]))
        form = self.draw.random()
        if form < 0.4 or name.name == "conversation":
            return Condition("like", (name, self.draw.random() < 0.3, self.draw.choice(PATTERNS)))
        values = ["https", "domain", "ssh", "wireguard"] if name.name == "service" else ["tcp", "udp", "icmp6", "255"]
        if form < 0.7:
            chosen = tuple(quoted(value) for value in self.draw.sample(values, 2))
            return Condition("in", (name, self.draw.random() < 0.3, chosen))
        return Condition("compare", (name, self.draw.choice(["=", "!="]), quoted(self.draw.choice(values))))

    def of_time(self):
        name = self.draw.choice(["stime", "ltime"])
        cut = self.draw.choice([1, 1_000_000, 1_000_000_000])
        value = time(self.packet().time_ns // cut * cut)
        return Condition("compare", (Name(name), self.draw.choice(["<", "<=", ">", ">="]), value))

    def of_null(self):
        name = self.draw.choice(["service", "pps", "flow_label"])
        return Condition("null", (Name(name), self.draw.random() < 0.5))

    def of_rows(self, depth=2):
        """A condition on rows."""
        form = self.draw.random()
        if depth and form < 0.45:
            count = self.draw.choice([2, 2, 3])
            parts = tuple(self.of_rows(depth - 1) for _ in range(count))
            return Condition(self.draw.choice(["and", "and", "or"]), parts)
        if depth and form < 0.55:
            return Condition("not", (self.of_rows(depth - 1),))
        kinds = [self.of_address] * 3 + [self.of_integer] * 5 + [self.of_ratio, self.of_difference, self.of_text]
        return self.draw.choice([*kinds, self.of_text, self.of_time, self.of_null])()

    def of_groups(self, depth=1):
        """A condition on groups: aggregates that need not be among the columns."""
        if depth and self.draw.random() < 0.25:
            parts = (self.of_groups(depth - 1), self.of_groups(depth - 1))
            return Condition(self.draw.choice(["and", "or"]), parts)
        operator = self.draw.choice(["<", "<=", ">", ">=", "!="])
        form = self.draw.random()
        if form < 0.3:
            field = Name(self.draw.choice(["total_count", "total_byte", "wire_byte"]))
            return Condition("compare", (Aggregate("sum", field), operator, integer(sizes(self.draw))))
        if form < 0.5:
            return Condition("compare", (Aggregate("count"), operator, integer(self.draw.choice([1, 2, 3, 10]))))
        if form < 0.55:
            return Condition("compare", (Aggregate("count_if", self.of_rows(0)), operator, integer(self.draw.choice([0, 1, 3]))))
        if form < 0.7:
            field = Name(self.draw.choice(["src_addr", "dst_port"]))
            return Condition("compare", (Aggregate("count", field), operator, integer(self.draw.choice([0, 1, 2, 5]))))
        if form < 0.85:
            ratio = Arithmetic(Aggregate("sum", Name("total_byte")), "/", Aggregate("sum", Name("wire_byte")))
            value = self.draw.choice([("0.7313", "73.13%"), ("0.9501", "95.01%")])
            operator = self.draw.choice(["<", ">"])
            return Condition("compare", (ratio, operator, Literal(value[0], value, "float")))
        field = Name(self.draw.choice(["last_ip_ttl", "total_byte", "last_tcp_win"]))
        function = self.draw.choice(["max", "min"])
        return Condition("compare", (Aggregate(function, field), operator, integer(sizes(self.draw))))
