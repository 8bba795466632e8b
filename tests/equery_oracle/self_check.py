"""Checks the oracle itself: its parser against tshark, its SQL against answers that were worked out by hand, and its comparison
against answers that are right and answers with one wrong value."""

import copy
import datetime
import ipaddress
import random
import subprocess

from . import frames, hand_cases, packets
from .compare import Comparison, expected_value
from .database import SECOND, Database
from .answers import Answer
from .top import right_top

TSHARK = {
    "frame.time_epoch": "time_ns", "frame.len": "wire_byte", "ip.src": "src_addr", "ip.dst": "dst_addr",
    "ipv6.src": "src_addr", "ipv6.dst": "dst_addr", "ip.len": "total_byte", "ipv6.plen": "total_byte", "ip.ttl": "ip_ttl",
    "ipv6.hlim": "ip_ttl", "ip.dsfield": "ip_tos", "ipv6.tclass": "ip_tos", "tcp.srcport": "src_port",
    "tcp.dstport": "dst_port", "udp.srcport": "src_port", "udp.dstport": "dst_port", "sctp.srcport": "src_port",
    "sctp.dstport": "dst_port", "tcp.seq_raw": "tcp_seq", "tcp.ack_raw": "tcp_ack", "tcp.flags": "tcp_flags",
    "tcp.window_size_value": "tcp_win", "vlan.id": "vlan", "eth.src": "smac", "eth.dst": "dmac", "ip.proto": "protocol",
    "icmp.type": "type", "icmp.code": "code", "icmpv6.type": "type", "icmpv6.code": "code", "ip.frag_offset": "offset",
    "ipv6.fraghdr.offset": "offset", "ipv6.flow": "flow_label",
}  # fmt: skip
NUMBERS = {"wire_byte", "total_byte", "ip_ttl", "ip_tos", "src_port", "dst_port", "tcp_seq", "tcp_ack", "tcp_flags"}
NUMBERS |= {"tcp_win", "vlan", "protocol", "type", "code", "offset", "flow_label"}
PREFERENCES = ["ip.defragment:FALSE", "ipv6.defragment:FALSE", "tcp.desegment_tcp_streams:FALSE"]


def of_tshark(path):
    """What tshark has of each frame, of the outermost headers."""
    command = ["tshark", "-n", "-r", path, "-T", "fields", "-E", "occurrence=f"]
    for preference in PREFERENCES:
        command += ["-o", preference]
    for name in TSHARK:
        command += ["-e", name]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for line in output.splitlines():
        found = {}
        for (name, field), text in zip(TSHARK.items(), line.split("\t")):
            if not text or field in found:
                continue
            if name == "frame.time_epoch":
                moment, _, part = text.partition(".")
                if "T" in text:
                    date = datetime.datetime.fromisoformat(moment).replace(tzinfo=datetime.timezone.utc)
                    moment, part = int(date.timestamp()), part.rstrip("Z")
                found[field] = int(moment) * SECOND + int(part.ljust(9, "0"))
            elif field in NUMBERS:
                found[field] = int(text, 0) + (40 if name == "ipv6.plen" else 0)
            else:
                found[field] = text
        yield found


def check_parser(name, path, read):
    """Differences between this parser and tshark."""
    differences = compared = 0
    for packet, truth in zip(read, of_tshark(path), strict=True):
        if packet.reason:
            if "ip.src" in truth:
                differences += 1
            continue
        if "type" in truth:
            truth["dst_port"] = truth.pop("type") * 256 + truth.pop("code")
        if truth.pop("offset", 0):
            for field in ("src_port", "dst_port", "tcp_seq", "tcp_ack", "tcp_win", "tcp_flags"):
                truth[field] = 0
        for field, value in truth.items():
            own = getattr(packet, field)
            if field.endswith("addr"):
                own, value = packets.address_text(own), str(ipaddress.ip_address(value))
            if field.endswith("mac") and value == "00:00:00:00:00:00":
                value = None
            if field == "tcp_flags":
                value &= 0xFF
            compared += 1
            if own != value:
                differences += 1
                print(f"{name} frame {packet.number + 1}: {field} is {own}, tshark has {value}")
    print(f"{name}: {compared} fields of {len(read)} frames compared with tshark's, differences {differences}")
    return differences


def shown_value(value, item):
    """A value as the program writes it."""
    kind = item.value.kind
    if kind == "top":
        return right_top(item.value, value)
    if value is None:
        return None
    if kind == "time":
        moment = datetime.datetime.fromtimestamp(value // SECOND, datetime.timezone.utc)
        return moment.strftime("%Y-%m-%dT%H:%M:%S") + f".{value % SECOND:09}Z"
    if kind == "integer" and abs(value) > 2**53:
        return str(value)
    return value


def answer_of(query, comparison, window, rows):
    """The right answer as the program would give it."""
    limit = 10_000 if query.limit is None else query.limit
    items = query.items
    values = [[expected_value(value, item, window) for value, item in zip(row, items)] + list(row[len(items) :]) for row in rows]
    from .compare import Row

    ordered, _ = comparison.order([Row(tuple(row[: len(items)]), tuple(row[len(items) :])) for row in values], limit)
    names = [item.expected_name(query.is_flows) or f"column {at}" for at, item in enumerate(items)]
    rest = {"groups": max(0, len(ordered) - limit) if query.group or query.is_flows else 0}
    for at, item in enumerate(items):
        value = item.value
        if query.group and getattr(value, "adds_up", False):
            rest[names[at]] = shown_value(sum(row.values[at] or 0 for row in ordered[limit:]), item)
    shown = [dict(zip(names, (shown_value(value, item) for value, item in zip(row.values, items)))) for row in ordered[:limit]]
    status = "cut" if window.is_cut else "complete"
    watched = (window.watched_start, window.watched_end) if window.is_cut else None
    return Answer(window.start, window.end, status, watched, int(window.is_empty), rest, "exact", [] if window.is_empty else shown)


def wrong_answers(answer):
    """Copies of an answer, each with one thing wrong."""
    if not answer.rows:
        return
    for name, value in answer.rows[0].items():
        wrong = copy.deepcopy(answer)
        if isinstance(value, bool) or value is None or isinstance(value, (str, dict)):
            wrong.rows[0][name] = 12345.5
        else:
            wrong.rows[0][name] = value + 1_000_003 if isinstance(value, int) else value * 1.00001 + 1
        yield wrong
    wrong = copy.deepcopy(answer)
    del wrong.rows[-1]
    yield wrong
    wrong = copy.deepcopy(answer)
    wrong.rest["groups"] += 1
    yield wrong


def check_comparison(name, database, queries):
    """Faults of the comparison: right answers that differ, and wrong ones that do not."""
    faults = checked = 0
    for query in sorted(queries, key=lambda query: (query.every or 10, query.over or 0)):
        every = (query.every or 10) * SECOND
        over = (query.over or query.every or 10) * SECOND
        windows = database.windows(every, over)
        expected = database.answer(query, every, over)
        comparison = Comparison(query, name, "", every, over)
        answers = [answer_of(query, comparison, windows[number], expected[number]) for number in windows]
        comparison.run(windows, expected, answers)
        checked += 1
        if comparison.differences:
            faults += 1
            print(f"{name}: a right answer differs: {query.text}: {comparison.differences[0]}")
        filled = [at for at, answer in enumerate(answers) if answer.rows and not answer.empty]
        for at in filled[:1]:
            number = list(windows)[at]
            for wrong in wrong_answers(answers[at]):
                comparison = Comparison(query, name, "", every, over)
                comparison.run({number: windows[number]}, expected, [wrong])
                checked += 1
                if not comparison.differences:
                    faults += 1
                    print(f"{name}: a wrong answer passes: {query.text}: {wrong.rows[:1]}")
    print(f"{name}: {checked} answers compared, faults {faults}")
    return faults


def check_by_hand(folder):
    """Answers of the oracle's SQL that are not those worked out by hand."""
    path = folder / "hand.pcap"
    frames.write(path, hand_cases.frames())
    database = Database(packets.read(path), folder)
    faults = 0
    for query, every, over, truth in hand_cases.cases():
        answers = database.answer(query, every * SECOND, over * SECOND)
        first = min(answers)
        found = {number - first: sorted(rows, key=str) for number, rows in answers.items() if rows}
        if not hand_cases.equal(found, truth):
            faults += 1
            print(f"by hand: {query.label}: expected {truth}, the oracle has {found}")
    print(f"by hand: {len(hand_cases.cases())} queries, faults {faults}")
    return faults


def run(made, queries, folder):
    """Checks all; the exit code."""
    faults = check_by_hand(folder)
    for name, path, read in made:
        faults += check_parser(name, path, read)
        database = Database(read, folder)
        faults += check_comparison(name, database, random.Random(name).sample(queries, min(60, len(queries))) if len(read) > 20_000 else queries)
        database.connection.close()
    return 1 if faults else 0
