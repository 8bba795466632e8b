"""Compares the program's answers with the oracle's, and says in words where they differ."""

import ipaddress
from dataclasses import dataclass
from typing import NamedTuple

from .answers import normal
from .language import Aggregate, Name
from .packets import address_text
from .top import is_right_top, right_top

SECOND = 1_000_000_000
MOST_GROUPS = 10_000
SHOWN = 3


@dataclass
class Difference:
    """Where an answer is not the expected one."""

    kind: str
    query: str
    capture: str
    options: str
    window: str
    expected: str
    got: str


class Row(NamedTuple):
    """An expected row: its values by column, what it is ordered by, and its weights of `top`."""

    values: tuple
    order: tuple


def near(one, other):
    """Whether two values are equal; floating point numbers to a part in 10^9."""
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= 1e-9 * max(1.0, abs(one), abs(other))
    return one == other


def all_near(some, others):
    return len(some) == len(others) and all(near(one, other) for one, other in zip(some, others))


def expected_value(value, item, window):
    """A value of the oracle's SQL as it is compared."""
    if value is None:
        return None
    kind = item.value.kind
    if kind == "address":
        return str(ipaddress.ip_network(address_text(value)))
    if isinstance(item.value, Aggregate) and item.value.function == "rate":
        return value * SECOND / (window.watched_end - window.watched_start)
    if kind == "float":
        return float(value)
    return int(value) if kind in ("integer", "time") else value


def sorted_rows(rows, directions):
    """Rows in the order of the query: nulls are last in either direction."""
    for at in reversed(range(len(directions))):
        present = [row for row in rows if row.order[at] is not None]
        present.sort(key=lambda row: row.order[at], reverse=directions[at])
        rows = present + [row for row in rows if row.order[at] is None]
    return rows


class Comparison:
    """Compares answers of one query over one capture."""

    def __init__(self, query, capture, options, every, over):
        self.query = query
        self.capture = capture
        self.options = options
        self.every = every
        self.over = over
        self.window = ""
        self.values = 0
        self.windows = 0
        self.differences = []

    def differ(self, kind, expected, got):
        where = (self.query.label, self.capture, self.options, self.window)
        self.differences.append(Difference(kind, *where, str(expected), str(got)))

    def run(self, windows, expected, answers):
        """Compares answers with the expected rows of each window."""
        by_window = {}
        for answer in answers:
            self.spread(answer, by_window)
        for number, window in windows.items():
            answer = by_window.pop((window.start, window.end), None)
            self.window = f"[{window.start / SECOND:.9f}, {window.end / SECOND:.9f})"
            if answer is not None:
                self.windows += 1
                self.compare_window(window, expected[number], answer)
            elif self.over == self.every or not window.is_cut:
                self.differ("window is missing", f"{len(expected[number])} rows", "no answer")
        if self.over == self.every:
            for start, end in by_window:
                self.window = f"[{start / SECOND:.9f}, {end / SECOND:.9f})"
                self.differ("window is surplus", "no answer", by_window[start, end])

    def spread(self, answer, by_window):
        """Puts an answer under each window that it stands for."""
        count = answer.empty or 1
        # The ends tell which windows these are.
        first = answer.end - (count - 1) * self.every
        if answer.start != first - self.over:
            self.window = f"[{answer.start / SECOND:.9f}, {answer.end / SECOND:.9f})"
            self.differ("span of empty windows", f"{count} windows from {(first - self.over) / SECOND:.9f} on", "another start")
        for at in range(count):
            end = first + at * self.every
            place = (end - self.over, end)
            if place in by_window:
                self.differ("window comes twice", "one answer", answer)
            by_window[place] = answer

    def compare_window(self, window, rows, answer):
        if answer.empty:
            if not window.is_empty or answer.rows or answer.rest.get("groups"):
                self.differ("empty window", f"{len(rows)} rows", answer)
            return
        status = "cut" if window.is_cut else "complete"
        watched = (window.watched_start, window.watched_end)
        # The last window of a capture is cut also where its last packet comes at its very end.
        ends_at_its_end = answer.status == "cut" and answer.watched == watched
        if answer.status != status and not ends_at_its_end:
            self.differ("status", status, answer.status)
        if window.is_cut and answer.watched != watched:
            self.differ("watched", watched, answer.watched)
        items = self.query.items
        expected = [
            Row(
                tuple(expected_value(value, item, window) for value, item in zip(row, items)),
                tuple(row[len(items) :]),
            )
            for row in rows
        ]
        self.compare_rows(expected, answer)

    def order(self, expected, limit):
        """The expected rows in their order, and whether that order is known."""
        if self.query.order:
            return sorted_rows(expected, [descending for _, descending in self.query.order]), True
        if len(expected) <= limit:
            return expected, False
        counters = ("total_count", "total_byte", "wire_byte")
        for at, item in enumerate(self.query.items):
            value = item.value
            is_counter = self.query.is_flows and isinstance(value, Name) and value.name in counters
            if is_counter or isinstance(value, Aggregate) and value.function in ("sum", "count", "count_if") and value.kind == "integer":
                with_order = [Row(row.values, (row.values[at],)) for row in expected]
                return sorted_rows(with_order, [True]), True
            if not isinstance(value, Name):
                break
        return expected, False

    def compare_rows(self, expected, answer):
        """Compares rows: each must be an expected one, at its place where the order is known."""
        limit = MOST_GROUPS if self.query.limit is None else self.query.limit
        expected, is_ordered = self.order(expected, limit)
        shown = min(limit, len(expected))
        exact = [at for at, item in enumerate(self.query.items) if item.value.kind not in ("float", "top")]
        buckets = {}
        for row in expected:
            buckets.setdefault(tuple(row.values[at] for at in exact), []).append(row)
        surplus, misplaced, got_rows = [], [], []
        for at, found in enumerate(answer.rows):
            values = self.row_values(found)
            if values is None:
                return
            got_rows.append(values)
            bucket = buckets.get(tuple(values[column] for column in exact), [])
            same = [row for row in bucket if self.same_values(row.values, values)]
            placed = same
            if is_ordered and at < len(expected):
                placed = [row for row in same if all_near(row.order, expected[at].order)]
            if not same:
                surplus.append((at, values, bucket))
                continue
            if not placed:
                misplaced.append((at, expected[at].order, values))
            bucket.remove((placed or same)[0])
        self.values += len(answer.rows) * len(self.query.items)
        if len(answer.rows) != shown:
            self.differ("number of rows", shown, len(answer.rows))
        if surplus:
            self.differ_in_rows(surplus, buckets, exact)
        for at, order, values in misplaced[:1]:
            self.differ(f"order of rows ({len(misplaced)} of {len(answer.rows)})", f"at {at} one ordered by {order}", values)
        self.compare_rest(expected, got_rows, answer.rest)

    def differ_in_rows(self, surplus, buckets, exact):
        """Says which rows were not expected, with what was expected at the same key."""
        for at, values, bucket in surplus[:SHOWN]:
            expected = [self.shown(row) for row in bucket[:2]]
            if not bucket:
                # The nearest by the number of equal columns.
                left = [row for rows in buckets.values() for row in rows]
                left.sort(key=lambda row: -sum(near(one, other) for one, other in zip(row.values, values)))
                expected = [self.shown(row) for row in left[:1]]
            self.differ(f"rows ({len(surplus)} not expected)", expected or "no row", f"at {at} {values}")

    def shown(self, row):
        """A row's values as they are printed."""
        pairs = zip(row.values, self.query.items)
        return tuple(right_top(item.value, value) if item.value.kind == "top" else value for value, item in pairs)

    def row_values(self, found):
        """The values of a row of the program's by column; none where it has others."""
        names = [item.expected_name(self.query.is_flows) for item in self.query.items]
        keys = list(found)
        if len(keys) != len(names):
            self.differ("columns", names, keys)
            return None
        values = []
        for at, (item, name) in enumerate(zip(self.query.items, names)):
            if name is not None and keys[at] != name:
                self.differ("name of a column", name, keys[at])
                return None
            value = found[keys[at]]
            values.append(value if item.value.kind == "top" else normal(value, item.value.kind))
        return tuple(values)

    def same_values(self, expected, got):
        """Whether all columns are equal."""
        for item, one, other in zip(self.query.items, expected, got):
            if item.value.kind == "top":
                if not is_right_top(item.value, one, other):
                    return False
            elif not near(one, other):
                return False
        return True

    def compare_rest(self, expected, got_rows, rest):
        """Compares what is said of the groups that the limit left out."""
        shown = len(got_rows)
        left_out = max(0, len(expected) - shown) if self.query.group or self.query.is_flows else 0
        self.values += 1
        if rest.get("groups") != left_out:
            self.differ("rest: groups", left_out, rest.get("groups"))
        totals = {}
        for at, item in enumerate(self.query.items):
            value, name = item.value, item.expected_name(self.query.is_flows)
            is_total = isinstance(value, Aggregate) and value.adds_up
            if name and (is_total or self.query.is_flows and value.kind == "integer"):
                whole = sum(row.values[at] or 0 for row in expected)
                totals[name] = (whole - sum(row[at] or 0 for row in got_rows if not isinstance(row[at], str)), is_total)
        for name, (total, is_total) in totals.items():
            if name not in rest:
                # Sums of floating point numbers depend on the order of their terms: none are required.
                if is_total and self.query.group and isinstance(total, int):
                    self.differ(f"rest: {name}", total, "nothing")
                continue
            self.values += 1
            is_float = isinstance(total, float) or isinstance(rest[name], float)
            got = normal(rest[name], "float" if is_float else "integer")
            if not near(got, total):
                self.differ(f"rest: {name}", total, got)
        for name in rest:
            known = [item.expected_name(self.query.is_flows) for item in self.query.items]
            if name != "groups" and name in known and name not in totals:
                self.differ("rest: a member that is no total", "nothing", f"{name}: {rest[name]}")
