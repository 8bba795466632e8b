"""Runs the program over a capture, with all queries at once."""

import json
import subprocess
from typing import NamedTuple

from . import answers


class Options(NamedTuple):
    """Options of a run; its base window in seconds."""

    every: int
    more: tuple = ()

    def __str__(self):
        return " ".join(("--every", f"{self.every}s", *self.more))


OFF = ("--idle-timeout", "off", "--active-timeout", "off")
# What may not change an answer: the base window, timeouts, and how cores share the work.
PLAIN = [Options(1), Options(10)]
VARIED = [
    Options(10, ("--active-timeout", "5s")),
    Options(10, ("--idle-timeout", "3s", "--active-timeout", "7s")),
    Options(1, ("--idle-timeout", "2s")),
    Options(5, OFF),
    Options(2),
    Options(1, ("--design", "rss")),
    Options(1, ("--design", "sync", "--cores", "2")),
    Options(10, ("--design", "async", "--cores", "2")),
    Options(1, ("--design", "pipeline", "--cores", "2")),
    Options(1, ("--design", "cooperative")),
    Options(10, ("--design", "cooperative", "--idle-timeout", "1s")),
    Options(1, ("--design", "1x2")),
    Options(10, ("--design", "1x2", "--active-timeout", "5s")),
    Options(1, ("--design", "1x3")),
    Options(10, ("--design", "async", "--cores", "2", "--split", "position", *OFF)),
    Options(1, ("--design", "sync", "--cores", "2", "--state", "shared", *OFF)),
    Options(10, ("--wire", "queues=2", "--design", "rss", "--cores", "2")),
    Options(1, ("--wire", "queues=2", "--design", "2x1")),
]


def option_sets(draw, is_for_one_receiver, count):
    """The plain options, and `count` varied ones."""
    varied = [options for options in VARIED if not (is_for_one_receiver and "--wire" in options.more)]
    return PLAIN + draw.sample(varied, min(count, len(varied)))


class Failed(Exception):
    """The program ended with an error."""


class Refused(Failed):
    """The program takes a query for wrong."""


class Run(NamedTuple):
    """What a run answered, and its report."""

    answers: dict
    report: dict
    lines: list


class Program:
    """The program, and a folder for what it writes."""

    def __init__(self, path, folder):
        self.path = path
        self.folder = folder

    def run(self, capture, queries, options):
        """Answers of all queries."""
        file = self.folder / "queries.eq"
        file.write_text("".join(f"{query.label}: {query.text};\n" for query in queries))
        return self.call(capture, options, "-f", str(file))

    def run_alone(self, capture, query, options):
        """The answer of one query."""
        return self.call(capture, options, "-q", f"{query.label}: {query.text}")

    def call(self, capture, options, *queries):
        report = self.folder / "report.json"
        base = ["run", str(capture), "--json", "--report", str(report), "--every", f"{options.every}s", *options.more]
        output = self.folder / "answers.jsonl"
        with open(output, "w") as file:
            done = subprocess.run(
                [self.path, *base, *queries], stdout=file, stderr=subprocess.PIPE, text=True, timeout=900
            )
        if done.returncode != 0:
            kind = Refused if done.returncode == 2 else Failed
            raise kind(f"exit code {done.returncode}: {done.stderr.strip()[-2000:]}")
        lines = output.read_text().splitlines()
        return Run(answers.read(lines), json.loads(report.read_text()), lines)
