"""The program's answers: lines of JSON, put together by query and window."""

import datetime
import ipaddress
import json
import re
from dataclasses import dataclass, field

TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{9})Z")


@dataclass
class Answer:
    """One query's answer for one window; `empty` is the number of windows that an object without rows stands for."""

    start: int
    end: int
    status: str
    watched: object
    empty: int
    rest: dict
    bounds: str
    rows: list = field(default_factory=list)


def nanoseconds(text):
    """A time in RFC 3339 with nanoseconds, since the epoch; none where it is not written so."""
    match = TIME.fullmatch(text) if isinstance(text, str) else None
    if not match:
        return None
    moment = datetime.datetime.fromisoformat(match[1]).replace(tzinfo=datetime.timezone.utc)
    return int(moment.timestamp()) * 1_000_000_000 + int(match[2])


def span(value):
    """A span as two times."""
    return (nanoseconds(value["start"]), nanoseconds(value["end"]))


def read(lines):
    """Answers by the name of the query, in the order of the output; parts of one answer are put together."""
    answers = {}
    for line in lines:
        found = json.loads(line)
        if "query" not in found or found.get("window") is None:
            continue
        start, end = span(found["window"])
        of_query = answers.setdefault(found["query"], {})
        answer = of_query.get((start, end))
        if answer is None:
            watched = span(found["watched"]) if found.get("watched") else None
            empty = found.get("empty", 0)
            answer = Answer(start, end, found["status"], watched, empty, found["rest"], found["bounds"])
            of_query[start, end] = answer
        answer.rows += found["rows"]
    return {query: list(windows.values()) for query, windows in answers.items()}


def normal(value, kind):
    """A value of the program's as the oracle has it; a text that begins with `?` where it is not of its kind."""
    if value is None:
        return None
    wrong = f"?{json.dumps(value)}"
    if kind == "integer":
        if isinstance(value, str) and re.fullmatch(r"-?\d+", value) and abs(int(value)) > 2**53:
            return int(value)
        return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= 2**53 else wrong
    if kind == "float":
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else wrong
    if kind == "time":
        found = nanoseconds(value)
        return wrong if found is None else found
    if kind == "address":
        try:
            return str(ipaddress.ip_network(value))
        except (ValueError, TypeError):
            return wrong
    return value if isinstance(value, str) else wrong
