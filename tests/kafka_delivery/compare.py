"""What is in topics against what is to be there."""

import ipaddress
import json
from collections import Counter
from datetime import datetime, timezone

import pyarrow.parquet as parquet


class Found:
    """The messages of a topic, each identifier once."""

    def __init__(self, messages):
        self.sent, self.messages, self.contradictions = len(messages), {}, 0
        for message in messages:
            known = self.messages.setdefault(message["id"], message)
            self.contradictions += known != message

    @property
    def duplicates(self):
        return self.sent - len(self.messages)


def whole_answers(found):
    """The answers and events of messages: parts put together."""
    texts, parts = Counter(), {}
    for message in found.messages.values():
        body = message.get("event") or message["answer"]
        if message.get("parts", 1) == 1:
            texts[canonical(body)] += 1
        else:
            head = {name: value for name, value in body.items() if name not in ("rows", "account")}
            parts.setdefault((canonical(head), message["parts"]), {})[message["part"]] = body
    for (_, number), of in parts.items():
        assert sorted(of) == list(range(1, number + 1)), "parts of an answer are missing"
        whole = dict(of[1], rows=[row for part in sorted(of) for row in of[part]["rows"]])
        texts[canonical(whole)] += 1
    return texts


def canonical(body):
    return json.dumps(body, sort_keys=True)


def message_rows(found):
    """The window rows of messages."""
    rows = Counter()
    for message in found.messages.values():
        answer = message["answer"]
        for row in answer["rows"]:
            rows[(answer["node"], nanoseconds(answer["window"]["start"]), *key(row), *counts(row))] += 1
    return rows


def nanoseconds(text):
    moment = datetime.strptime(text[:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
    return int(moment.timestamp()) * 1_000_000_000 + int(text[20:29])


def key(row):
    return (row["src_addr"], row["dst_addr"], row["protocol"], row["src_port"], row["dst_port"])


def counts(row):
    times = [nanoseconds(row[name]) for name in ("stime", "ltime")]
    return (*(int(row[name]) for name in ("total_count", "total_byte", "wire_byte")), *times)


def stored_rows(paths):
    """The same of Parquet files of window rows."""
    rows = Counter()
    for path in paths:
        table = parquet.ParquetFile(path).read()
        names = ["node_id", "window_start", "src_addr", "dst_addr", "protocol", "src_port", "dst_port"]
        names += ["total_count", "total_byte", "wire_byte", "stime_ns", "ltime_ns"]
        columns = [table.column(name) for name in names]
        columns[1] = columns[1].cast("int64")
        for node, start, source, destination, *rest in zip(*(column.to_pylist() for column in columns), strict=True):
            rows[(node, start * 1000, address(source), address(destination), *rest)] += 1
    return rows


def address(octets):
    whole = ipaddress.IPv6Address(octets)
    return str(whole.ipv4_mapped or whole)


def difference(expected, found):
    """How much is lost, and how much there is that should not be."""
    return sum((expected - found).values()), sum((found - expected).values())
