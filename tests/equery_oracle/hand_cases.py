"""Answers that were worked out by hand, over a capture of nine packets."""

import math

from .captures import SECOND, START
from .frames import ethernet, ip, tcp, udp
from .language import Aggregate, Arithmetic, Condition, Item, Name, Query, address, integer

A, B, C = "10.0.0.1", "10.0.1.2", "192.0.2.9"


def frames():
    """Windows of ten seconds: three flows and five packets, then none, then two flows and four packets."""
    at = [
        (1, ethernet(ip(A, C, 6, tcp(1000, 443, 10, flags=2, win=5), ttl=64), (7,))),  # 50 bytes
        (2, ethernet(ip(B, C, 17, udp(2000, 53, 72), ttl=3))),  # 100 bytes
        (3, ethernet(ip(A, C, 6, tcp(1000, 443, 110, flags=16, win=6), ttl=63), (7,))),  # 150 bytes
        (5, ethernet(ip(A, C, 6, tcp(1000, 443, 60, flags=1, win=7), ttl=62), (7,))),  # 100 bytes
        (9, ethernet(ip(C, A, 6, tcp(443, 1000, 0, flags=16, win=9), ttl=9), (7,))),  # 40 bytes
        (20, ethernet(ip(A, C, 6, tcp(1000, 443, 360, flags=16, win=8), ttl=61), (7,))),  # 400 bytes
        (21, ethernet(ip(A, A, 17, udp(5, 5, 2), ttl=1))),  # 30 bytes
        (28, ethernet(ip(A, C, 6, tcp(1000, 443, 160, flags=16, win=4), ttl=60), (7,))),  # 200 bytes
        (29, ethernet(ip(A, A, 17, udp(5, 5, 12), ttl=2))),  # 40 bytes
    ]
    return [(START + second * SECOND, frame) for second, frame in at]


def total(name):
    return Aggregate("sum", Name(name))


def of(label, *values, **more):
    """A query that computes values."""
    return Query(label, [Item(value) for value in values], **more)


def cases():
    """Queries, their windows in seconds, and the sorted rows of each window, counted from the first one."""
    src, tcp_only = Name("src_addr"), Condition("compare", (Name("protocol"), "=", integer(6)))
    bits = {address_: address(address_).sql.strip("'") for address_ in (A, B, C)}
    not_seven = Condition("compare", (Name("vlan"), "!=", integer(7)))
    in_net = Condition("in", (Name("addr"), True, (address("10.0.1.0/24"),)))
    many = Condition("compare", (Aggregate("count"), ">", integer(1)))
    ratio = Arithmetic(total("total_byte"), "/", Arithmetic(Aggregate("count"), "-", integer(2)))
    size = Name("total_byte")
    return [
        (of("sums", total("total_count"), total("total_byte"), Aggregate("count")), 10, 10,
         {0: [[5, 440, 3]], 1: [[0, 0, 0]], 2: [[4, 670, 2]]}),
        (of("merged rows", Aggregate("count"), Aggregate("max", size)), 30, 30, {0: [[4, 900]]}),
        (of("by source", src, total("total_byte"), group=[src]), 10, 10,
         {0: [[bits[A], 300], [bits[B], 100], [bits[C], 40]], 2: [[bits[A], 670]]}),
        (of("either end", Name("addr"), total("total_byte"), group=[Name("addr")]), 10, 10,
         {0: [[bits[A], 340], [bits[B], 100], [bits[C], 440]], 2: [[bits[A], 670], [bits[C], 600]]}),
        (of("prefixes", Name("src_addr", (24,)), Aggregate("count"), group=[Name("src_addr", (24,))]), 30, 30,
         {0: [[bits[A][:25], 2], [bits[B][:25], 1], [bits[C][:25], 1]]}),
        (of("null is not unequal", Aggregate("count"), filter=not_seven), 10, 10, {0: [[0]], 1: [[0]], 2: [[0]]}),
        (of("not in a prefix", Aggregate("count"), filter=in_net), 10, 10, {0: [[2]], 1: [[0]], 2: [[2]]}),
        (of("having", src, total("total_count"), group=[src], having=many), 10, 10, {2: [[bits[A], 4]]}),
        (of("no value", Aggregate("avg", Name("vlan")), total("vlan"), Aggregate("count", Name("vlan"))), 10, 10,
         {0: [[7, 14, 1]], 1: [[None, 0, 0]], 2: [[7, 7, 1]]}),
        (of("division by zero", ratio), 10, 10, {0: [[440.0]], 1: [[0.0]], 2: [[None]]}),
        (of("last values and flags", Name("ip_ttl"), Name("tcp_win"), Name("tcp_flags"), is_flows=True, filter=tcp_only), 10, 10,
         {0: [[62, 7, 19], [9, 9, 16]], 2: [[60, 4, 16]]}),
        (of("rates of a flow", Name("duration"), Name("pps"), Name("bps"), is_flows=True, filter=tcp_only), 10, 10,
         {0: [[0, None, None], [4 * SECOND, 0.75, 600.0]], 2: [[8 * SECOND, 0.25, 600.0]]}),
        (of("quantiles", *[Aggregate("quantile", size, share=share) for share in (0, 333, 334, 500, 1000)]), 10, 10,
         {0: [[40, 40, 100, 100, 300]], 1: [[None] * 5], 2: [[70, 70, 70, 70, 600]]}),
        (of("deviation", Aggregate("stddev", Name("total_count"))), 10, 10,
         {0: [[math.sqrt(8) / 3]], 1: [[None]], 2: [[0.0]]}),
        (of("entropy", Aggregate("entropy", src), Aggregate("entropy", src, weight=size)), 10, 10,
         {0: [[1.3709505944546687, 300 / 440 * math.log2(440 / 300) + 100 / 440 * math.log2(4.4) + 40 / 440 * math.log2(11)]],
          1: [[None, None]], 2: [[0.0, 0.0]]}),
        (of("flows by a condition", Aggregate("count_if", Condition("compare", (size, ">", integer(99)))), Aggregate("count_if", not_seven)), 10, 10,
         {0: [[2, 0]], 1: [[0, 0]], 2: [[1, 0]]}),
        (of("geometric means", Aggregate("geomean", size), Aggregate("geomean", Name("src_port"))), 10, 10,
         {0: [[(300 * 100 * 40) ** (1 / 3), (1000 * 2000 * 443) ** (1 / 3)]], 1: [[None, None]], 2: [[math.sqrt(600 * 70), math.sqrt(1000 * 5)]]}),
        (of("sliding", total("total_count")), 10, 20, {0: [[5]], 1: [[5]], 2: [[4]]}),
    ]  # fmt: skip


def equal(found, truth):
    """Whether rows are equal, floating point numbers nearly."""

    def same(one, other):
        if isinstance(one, float) and isinstance(other, (int, float)):
            return abs(one - other) < 1e-12 * max(1, abs(other))
        return one == other

    if found.keys() != truth.keys():
        return False
    for number, rows in truth.items():
        rows = sorted(rows, key=str)
        if len(rows) != len(found[number]):
            return False
        for row, other in zip(found[number], rows):
            if len(row) != len(other) or not all(same(value, right) for value, right in zip(row, other)):
                return False
    return True
