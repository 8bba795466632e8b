"""The command line: captures, queries, runs, and what differs."""

import argparse
import os
import random
import sys
import tempfile
import time
from pathlib import Path

import virtual_environment

from . import captures, generator, packets
from .compare import Comparison, Difference
from .database import SECOND, Database
from .language import Aggregate, Item, Name, Query
from .program import Failed, Program, Refused, option_sets

SHOWN = 40
SAMPLE = 200


def arguments():
    """The options."""
    parser = argparse.ArgumentParser(
        prog="scripts/equery-oracle",
        description="Compares Edison's answers to random queries with DuckDB's over the packets of captures.",
        epilog="EDISON is the program, by default the release build; EDISON_TEST_DATA the folder of real captures, if any.",
    )
    parser.add_argument("--queries", type=int, default=200, metavar="N", help="random queries (200)")
    parser.add_argument("--captures", type=int, default=20, metavar="N", help="captures (20)")
    parser.add_argument("--seed", default="1", metavar="N", help="what all is drawn from (1)")
    parser.add_argument("--runs", type=int, default=2, metavar="N", help="varied sets of options for each capture (2)")
    parser.add_argument("--only", metavar="QUERY", help="one query, by its label")
    parser.add_argument("--capture", metavar="NAME", help="one capture, by its name")
    parser.add_argument("--show", action="store_true", help="print the queries and end")
    parser.add_argument("--check-oracle", action="store_true", help="check the oracle itself, without Edison's answers")
    return parser.parse_args()


def program_path(root):
    """The program."""
    path = Path(os.environ.get("EDISON") or virtual_environment.target(root) / "release" / "edison")
    if not path.exists():
        sys.exit(f"equery-oracle: there is no {path}: build it with cargo build --release, or name it in EDISON")
    return str(path.resolve())


class Check:
    """All captures under all queries."""

    def __init__(self, options, program):
        self.options = options
        self.program = program
        self.windows = 0
        self.values = 0
        self.differences = []
        self.texts = {}
        self.refused = {}

    def add(self, comparison):
        self.windows += comparison.windows
        self.values += comparison.values
        self.differences += comparison.differences

    def differ(self, kind, query, capture, options, expected, got):
        self.differences.append(Difference(kind, query, capture, str(options), "", str(expected), str(got)))

    def capture(self, name, path, frames, queries, folder):
        """One capture: the answers of each set of options against those of the oracle."""
        database = Database(frames, folder)
        draw = random.Random(f"{self.options.seed} {name}")
        measured = sum(not frame.reason for frame in frames)
        expected = {}
        for options in option_sets(draw, name in captures.ONE_RECEIVER, self.options.runs):
            fitting = [query for query in queries if is_multiple(query, options.every)]
            run = self.run(name, path, fitting, options)
            if run is None:
                continue
            self.check_sum(name, options, run, measured)
            # Queries of one kind of window follow one another: the rows are made once.
            for query in sorted(fitting, key=lambda query: span_of(query, options.every)):
                if query.label in self.refused:
                    continue
                every, over = span_of(query, options.every)
                if (query.label, every) not in expected:
                    expected[query.label, every] = database.answer(query, every, over)
                comparison = Comparison(query, name, str(options), every, over)
                answers = run.answers.get(query.label, [])
                comparison.run(database.windows(every, over), expected[query.label, every], answers)
                self.add(comparison)
            if not options.more:
                self.check_alone(name, path, draw, fitting, options, run)
        database.connection.close()

    def run(self, name, path, queries, options):
        """Answers of all queries in one process; queries that are refused are left out from then on."""
        queries = [query for query in queries if query.label not in self.refused]
        try:
            return self.program.run(path, queries, options)
        except Refused:
            for query in queries:
                try:
                    self.program.run_alone(path, query, options)
                except Failed as error:
                    self.refused[query.label] = str(error)
                    self.differ("refused", query.label, name, options, "an answer", error)
        except Failed as error:
            self.differ("failed", "all", name, options, "answers", error)
            return None
        try:
            left = [query for query in queries if query.label not in self.refused]
            return self.program.run(path, left, options)
        except Failed as error:
            self.differ("failed", "all", name, options, "answers", error)
            return None

    def check_sum(self, name, options, run, measured):
        """Packets of all windows are those that were measured."""
        packets = run.report["packets"]
        account = packets["received"] - sum(packets["not_measured"].values())
        total = sum(int(row["p"]) for answer in run.answers.get("total", []) for row in answer.rows)
        self.values += 1
        if not total == account == measured:
            self.differ("sum over windows", "total", name, options, f"{measured}, account {account}", total)

    def check_alone(self, name, path, draw, queries, options, run):
        """A query alone has the same answer as with others."""
        for query in draw.sample(queries, min(2, len(queries))):
            if query.label in self.refused:
                continue
            try:
                alone = self.program.run_alone(path, query, options).answers.get(query.label)
            except Failed as error:
                self.differ("alone", query.label, name, options, "an answer", error)
                continue
            if alone != run.answers.get(query.label):
                self.differ("alone", query.label, name, options, run.answers.get(query.label), alone)


def span_of(query, base):
    """Length and reach of the query's windows, nanoseconds."""
    every = query.every or base
    return every * SECOND, (query.over or every) * SECOND


def is_multiple(query, base):
    """Whether the query's windows are whole numbers of the run's."""
    return (query.every or base) % base == 0


def total_query():
    """The packets of each window."""
    query = Query("total", [Item(Aggregate("sum", Name("total_count")), "p")])
    query.text = "select sum(total_count) as p"
    return query


def show(difference, texts):
    """Prints a difference."""
    print(f"\n{difference.kind}: {difference.query} over {difference.capture}, {difference.options} {difference.window}")
    print(f"    query     {' '.join(texts.get(difference.query, '').split())}")
    print(f"    expected  {difference.expected[:1500]}")
    print(f"    got       {difference.got[:1500]}")


def main(root):
    """Runs all; the exit code."""
    options = arguments()
    program = program_path(root)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="equery-oracle-") as folder:
        folder = Path(folder)
        made = [
            (name, path, packets.read(path))
            for name, path in captures.make(folder, options.captures, options.seed, program)
        ]
        for name, _, frames in made:
            if unstable := packets.unstable_flow(frames):
                sys.exit(f"equery-oracle: the VLAN or a MAC address of {unstable} changes in {name}")
        queries = generator.generate(options.queries, options.seed, sample(made, options.seed))
        if options.show:
            print("\n".join(f"{query.label}: {query.text};" for query in queries))
            return 0
        if options.check_oracle:
            from . import self_check

            return self_check.run(made, queries, folder)
        if options.only:
            queries = [query for query in queries if query.label == options.only]
        if options.capture:
            made = [entry for entry in made if entry[0] == options.capture]
        check = Check(options, Program(program, folder))
        check.texts = {query.label: query.text for query in queries}
        for name, path, frames in made:
            check.capture(name, path, frames, [total_query(), *queries], folder)
            if sys.stderr.isatty():
                print(f"{name}: {len(check.differences)} differences so far", file=sys.stderr)
    kinds = {}
    for difference in check.differences:
        kinds.setdefault((difference.kind.split(" (")[0], difference.query), []).append(difference)
    for same in list(kinds.values())[:SHOWN]:
        show(same[0], check.texts)
        if len(same) > 1:
            print(f"    and {len(same) - 1} more of this kind, as over {same[-1].capture}, {same[-1].options}")
    if len(kinds) > SHOWN:
        print(f"\nand {len(kinds) - SHOWN} more kinds of differences")
    print(
        f"queries {len(queries)} captures {len(made)} windows {check.windows} values {check.values} "
        f"differences {len(check.differences)}"
    )
    print(f"equery-oracle: took {time.monotonic() - begun:.0f} s", file=sys.stderr)
    return 1 if check.differences else 0


def sample(made, seed):
    """Packets that queries take their values from: as many of each capture."""
    draw = random.Random(f"{seed} values")
    chosen = []
    for _, _, frames in made:
        measured = [frame for frame in frames if not frame.reason]
        chosen += draw.sample(measured, min(SAMPLE, len(measured)))
    return chosen
