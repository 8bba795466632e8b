"""Random queries from the grammar."""

import random

from . import fields
from .conditions import Conditions
from .language import Aggregate, Arithmetic, Item, Name, Query, integer

PREFIXES = [(24, 64), (16, 48), (8,), (13, 33), (32, 64), (24,)]
SHARES = [0, 10, 50, 100, 250, 333, 500, 750, 900, 950, 990, 999, 1000]
WINDOWS = [None, None, None, 1, 2, 5, 10, 10, 20, 30, 60]
SLIDING = [(10, 1), (5, 1), (20, 10), (30, 10), (60, 20), (60, 10), (4, 2)]
# Not addr and port, which have two values in a row, and are refused. Neither what is counted by packets, which flows do not tell.
COUNTABLE = ["src_addr", "dst_addr", "protocol", "src_port", "dst_port", "service", "conversation", "protocol_name", "flow_label"]
WEIGHABLE = ["src_addr", "dst_addr", "protocol", "src_port", "dst_port", "service", "conversation", "flow_label"]


def generate(count, seed, packets):
    """`count` queries, labelled q0, q1, …, with values from the packets."""
    return [Generator(random.Random(f"{seed} {at}"), packets).query(f"q{at}") for at in range(count)]


class Generator:
    """Draws one query."""

    def __init__(self, draw, packets):
        self.draw = draw
        self.conditions = Conditions(draw, packets)

    def query(self, label):
        """A query, written."""
        form = self.draw.random()
        build = self.of_flows if form < 0.2 else self.of_all if form < 0.4 else self.of_groups
        query = build(label)
        if self.draw.random() < 0.6:
            query.filter = self.conditions.of_rows()
        if self.draw.random() < 0.15:
            query.over, query.every = self.draw.choice(SLIDING)
        else:
            query.every = self.draw.choice(WINDOWS)
        return query.write(self.draw)

    def of_flows(self, label):
        """Fields of each flow."""
        names = [field.name for field in fields.ALL]
        chosen = [Name(name) for name in self.draw.sample(names, self.draw.randrange(1, 7))]
        items = [self.item(value, at) for at, value in enumerate(chosen)]
        if self.draw.random() < 0.3:
            ratio = Arithmetic(Name("total_byte"), self.draw.choice("/-*+"), Name("total_count"))
            items.append(Item(ratio, "computed"))
        query = Query(label, items, is_flows=True)
        if self.draw.random() < 0.5:
            orderable = ["total_byte", "total_count", "stime", "ip_ttl", "tcp_seq", "vlan", "duration", "wire_byte", "ip_ttl_min"]
            last = self.draw.choice([*orderable, "bps", "bytes_per_packet"])
            names = dict.fromkeys([self.draw.choice(orderable), last])
            query.order = [(Name(name), self.draw.random() < 0.6) for name in names]
            self.limit(query, 0.7)
        return query

    def of_all(self, label):
        """Aggregates of all rows."""
        values = list(dict.fromkeys(self.value() for _ in range(self.draw.randrange(1, 5))))
        return Query(label, [self.item(value, at) for at, value in enumerate(values)])

    def of_groups(self, label):
        """Aggregates by the values of fields."""
        group = self.group()
        taken = {name.name for name in group}
        values = list(dict.fromkeys(self.value(taken) for _ in range(self.draw.randrange(1, 4))))
        items = [Item(name) for name in group] + [self.item(value, at) for at, value in enumerate(values)]
        if self.draw.random() < 0.4:
            self.draw.shuffle(items)
        query = Query(label, items, group=group)
        if self.draw.random() < 0.25:
            query.having = self.conditions.of_groups()
        if self.draw.random() < 0.5:
            query.order = self.order(values, group)
        # Without an order, the largest by the first aggregate are first.
        first = next(item.value for item in items if not isinstance(item.value, Name))
        if query.order or isinstance(first, Aggregate) and first.function in ("sum", "count", "count_if") and first.kind == "integer":
            self.limit(query, 0.6)
        return query

    def order(self, values, group):
        """Values of groups to order by. One whose last digits depend on the order of computation comes last: it decides no ties."""
        ordered = [value for value in values if value.kind not in ("top", "text") and "rate" not in functions(value)]
        order = [(value, self.draw.random() < 0.7) for value in ordered if is_exact(value)][:2]
        inexact = [(value, self.draw.random() < 0.7) for value in ordered if not is_exact(value)][:1]
        if inexact and self.draw.random() < 0.5:
            return order + inexact
        if order and self.draw.random() < 0.3:
            order.append((Aggregate("sum", Name("total_byte")), True))
        if order and self.draw.random() < 0.5:
            order.append((group[0], self.draw.random() < 0.5))
        return order

    def limit(self, query, probability):
        if self.draw.random() < probability:
            query.limit = self.draw.choice([1, 1, 2, 3, 5, 10, 20, 100])

    def group(self):
        """One to three fields to group by; `addr` or `port` alone put a row into several groups."""
        form = self.draw.random()
        if form < 0.12:
            addr = Name("addr", self.prefix() if self.draw.random() < 0.4 else ())
            return [addr] + ([Name("protocol")] if self.draw.random() < 0.3 else [])
        if form < 0.2:
            return [Name("port")] + ([Name("protocol_name")] if self.draw.random() < 0.5 else [])
        if form < 0.26:
            key = ["src_addr", "dst_addr", "protocol", "src_port", "dst_port"]
            return [Name(name) for name in key]
        names = ["src_addr"] * 4 + ["dst_addr"] * 4 + ["protocol", "src_port", "dst_port"]
        names += ["service", "service", "conversation", "protocol_name", "flow_label", "ip_ttl_max"]
        chosen = dict.fromkeys(self.draw.choice(names) for _ in range(self.draw.choice([1, 1, 2, 3])))
        if "conversation" in chosen:
            # It has these already: both together are refused.
            of_key = ("src_addr", "dst_addr", "src_port", "dst_port", "protocol")
            chosen = dict.fromkeys(name for name in chosen if name not in of_key)
        cut = {name: self.prefix() for name in chosen if name.endswith("addr") and self.draw.random() < 0.35}
        return [Name(name, cut.get(name, ())) for name in chosen]

    def prefix(self):
        return self.draw.choice(PREFIXES)

    def item(self, value, at):
        """A column, often with a name of its own."""
        is_plain = isinstance(value, Name) or isinstance(value, Aggregate) and value.canonical()
        return Item(value, f"c{at}" if not is_plain or self.draw.random() < 0.4 else None)

    def value(self, taken=()):
        """An aggregate, or arithmetic of aggregates."""
        form = self.draw.random()
        if form < 0.14:
            left, right = (self.number() for _ in range(2))
            return Arithmetic(left, self.draw.choice("+-*/"), right)
        if form < 0.18:
            return Arithmetic(Aggregate("sum", Name("total_byte")), "*", integer(8))
        if form < 0.21:
            return Arithmetic(Aggregate("max", Name("ltime")), "-", Aggregate("min", Name("stime")))
        return self.aggregate(taken)

    def number(self):
        """An aggregate that is an integer, for arithmetic."""
        field = Name(self.draw.choice(["total_count", "total_byte", "wire_byte"]))
        kinds = [Aggregate("sum", field), Aggregate("count"), Aggregate("count", Name("src_addr")), Aggregate("max", field)]
        return self.draw.choice(kinds)

    def aggregate(self, taken=()):
        form = self.draw.random()
        if form < 0.09:
            return Aggregate("count")
        if form < 0.15:
            return Aggregate("count_if", self.conditions.of_rows(1))
        if form < 0.3:
            # Within groups of either end, it would be open which rows count.
            names = [name for name in COUNTABLE if name not in ("addr", "port") or not taken]
            return Aggregate("count", Name(self.draw.choice(names)))
        if form < 0.5:
            return Aggregate("sum", self.summand())
        if form < 0.72:
            return Aggregate(self.draw.choice(["avg", "geomean", "min", "max", "stddev"]), self.measurable())
        if form < 0.76:
            return Aggregate(self.draw.choice(["min", "max"]), Name(self.draw.choice(["stime", "ltime"])))
        if form < 0.81:
            return Aggregate("rate", Name(self.draw.choice(["total_count", "total_byte", "wire_byte"])))
        if form < 0.89:
            return Aggregate("quantile", self.measurable(), share=self.draw.choice(SHARES))
        name = Name(self.draw.choice(WEIGHABLE))
        if form < 0.95:
            weight = self.draw.choice([None, None, Name("total_byte"), Name("wire_byte")])
            return Aggregate("entropy", name, weight=weight)
        weight = self.draw.choice([None, Aggregate("sum", Name("total_count")), Aggregate("count")])
        return Aggregate("top", name, weight=weight, count=self.draw.choice([1, 3, 5]))

    def summand(self):
        names = ["total_count", "total_byte", "total_byte", "wire_byte", "duration", "last_tcp_win", "first_vlan", "pps", "ip_ttl_max"]
        if self.draw.random() < 0.15:
            return Arithmetic(Name("wire_byte"), self.draw.choice("-+"), Name("total_byte"))
        return Name(self.draw.choice(names))

    def measurable(self):
        names = ["total_count", "total_byte", "wire_byte", "duration", "last_ip_ttl", "last_tcp_win", "last_tcp_seq", "first_vlan"]
        names += ["src_port", "bytes_per_packet", "pps", "bps", "any_tcp_flags", "dst_port", "last_ip_tos"]
        names += ["flow_label", "ip_ttl_min", "ip_ttl_max"]
        if self.draw.random() < 0.1:
            return Arithmetic(Name("total_byte"), "/", Name("total_count"))
        return Name(self.draw.choice(names))


def functions(value):
    """The functions in a value."""
    if isinstance(value, Arithmetic):
        return functions(value.left) | functions(value.right)
    return {value.function} if isinstance(value, Aggregate) else set()


def is_exact(value):
    """Whether every way to compute a value has the same result, to the last digit."""
    if isinstance(value, Arithmetic):
        return is_exact(value.left) and is_exact(value.right)
    if not isinstance(value, Aggregate):
        return value.kind != "float"
    return value.argument is None or value.function not in ("entropy", "geomean", "stddev") and value.argument.kind != "float"
