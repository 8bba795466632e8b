"""The command line: a capture, a store of it, and what engines answer over it."""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

import virtual_environment

from . import cluster, engines, families, frames, others, queries
from .duck import Duck
from .program import Program
from .values import are_same, difference, of_answer, of_engine

# Some hours, so that all levels have whole windows.
SPEC = "packets=40k,flows=2k,rate=4,zipf=1.0,ipv6=20%,size=64:7/594:4/1518:1,plant=flood/scan/elephant"
BASE = "10s"
# A multiple of every level, and one of rows alone.
LENGTHS = {"1h": 3600, "50s": 50}


def arguments():
    """The options."""
    parser = argparse.ArgumentParser(
        prog="scripts/store-engines",
        description="Compares the answers of the cookbook's queries live, from a store, and in other engines over its files.",
        epilog="EDISON is the program, by default the release build, else the debug build.",
    )
    parser.add_argument("--all", action="store_true", help="chDB behind an HTTP front and a cluster of Spark too: a gigabyte is installed for them, and Spark needs Java 17")
    parser.add_argument("--spec", default=SPEC, help="the traffic, as edison generate takes it")
    return parser.parse_args()


def program_path(root):
    """The program."""
    builds = [virtual_environment.target(root) / build / "edison" for build in ("release", "debug")]
    named = [Path(os.environ["EDISON"])] if "EDISON" in os.environ else builds
    found = next((path for path in named if path.exists()), None)
    if found is None:
        sys.exit("store-engines: there is no program: build it with cargo build --release, or name it in EDISON")
    return str(found.resolve())


def rows_of(answer, convert):
    """The rows of an answer."""
    columns = answer["columns"]
    return [tuple(convert(row[column["name"]], column) for column in columns) for row in answer["rows"]]


def is_comparable(answer):
    """Whether engines can know it: the first and the last window were not watched whole, of which only rates tell; and one group of no rows is no row."""
    has_rate = any("rate(" in column["name"] for column in answer["columns"])
    return not (has_rate and answer.get("watched"))


def against_live(live, stored):
    """Where the answers of the store are not those of the run."""
    if live.keys() != stored.keys():
        return f"windows {sorted(live.keys() ^ stored.keys())[:3]} on one side only"
    for start, answer in live.items():
        for member in ("rows", "rest", "bounds", "window", "watched"):
            if not are_same(answer.get(member), stored[start].get(member)):
                return f"{member} of {start}: {str(answer.get(member))[:200]} and {str(stored[start].get(member))[:200]}"
    return None


def against_engine(stored, engine):
    """Where an engine's rows are not those of the store."""
    missing = engine.keys() - stored.keys()
    if missing:
        return f"windows {sorted(missing)[:3]} are the engine's only"
    for start, answer in stored.items():
        if not is_comparable(answer):
            continue
        own = rows_of(answer, of_answer)
        columns = answer["columns"]
        other = [tuple(map(of_engine, row, columns)) for row in engine.get(start, [])]
        if not other and all(value in (0, 0.0, None) for row in own for value in row):
            continue
        found = difference(own, other)
        if found:
            return f"window {start}: {found}"
    return None


class Table:
    """What was compared, a line each."""

    def __init__(self):
        self.failures = []
        self.verdicts = {}

    def line(self, engine, text, stored, *verdicts):
        """Prints a line."""
        levels = dict.fromkeys(level for answer in stored.values() for level in answer.get("levels", []))
        rows = sum(len(answer["rows"]) for answer in stored.values())
        wrong = [verdict for verdict in verdicts if verdict]
        self.failures += [f"{engine}: {text}: {verdict}" for verdict in wrong]
        said = "differs" if wrong else "equal"
        of_text = self.verdicts.setdefault(queries.part(text), {})
        of_text[engine] = "differs" if wrong else of_text.get(engine, "equal")
        print(f"{said:8}{engine:17}{len(stored):6}{rows:8}  {','.join(levels):14}{text[:110]}", flush=True)


    def summary(self):
        """Prints a line for each query, with a column for each engine, of all lengths of windows."""
        engines = list(dict.fromkeys(engine for of_text in self.verdicts.values() for engine in of_text))
        print("\n" + "".join(f"{engine:17}" for engine in engines) + "query")
        for text, verdicts in self.verdicts.items():
            print("".join(f"{verdicts.get(engine, '-'):17}" for engine in engines) + text[:110])


def check(program, capture, store, texts, table):
    """All texts, of each length of windows."""
    every = {length: [queries.whole(text, length) for text in texts] for length in LENGTHS}
    duck = Duck(store)
    for length, whole in every.items():
        file = program.queries(whole)
        live = program.answers("run", capture, "--node", "n1", "--every", BASE, "--loss", "-f", file)
        stored = program.answers("query", "--store", store, "-f", file)
        explained = json.loads(program.call("explain", file, "--every", BASE, "--json"))["files"][0]
        for number, (text, explanation) in enumerate(zip(whole, explained["queries"])):
            of_store = stored.get(f"q{number}", {})
            # A run counts packets by the field, and rows have what whole flows have of it: these are two questions.
            is_by_packets = any(step.startswith("count packets by flow and") for step in explanation["probe"])
            of_run = of_store if is_by_packets else live.get(f"q{number}", {})
            try:
                wrong = against_engine(of_store, duck.answer(explanation["sql"]))
            except Exception as error:  # What an engine refuses is a difference.
                wrong = str(error)[:500]
            table.line("live, DuckDB", text, of_store, against_live(of_run, of_store), wrong)


def check_others(program, store, table, engines):
    """The answers of engines to questions of their own."""
    for name, of in engines:
        for length, seconds in LENGTHS.items():
            found = list(of(store, seconds))
            file = program.queries([queries.whole(text, length) for text, _ in found])
            stored = program.answers("query", "--store", store, "-f", file)
            for number, (text, engine) in enumerate(found):
                of_store = stored.get(f"q{number}", {})
                table.line(name, queries.whole(text, length), of_store, against_engine(of_store, engine))


def check_engine(program, name, store, texts, table):
    """The answers of an engine that the program asks itself, each whole: to all groups of windows."""
    check_questions(program, name, store, [queries.whole(text, "1h") for text in texts], table)


def check_families(program, folder, names, table):
    """The same of packets whose addresses, orders and roundings are easily mistaken, with limits, in windows and over all time."""
    store = folder / "families"
    program.call("run", families.capture(folder / "families.pcap"), "--node", "n1", "--every", "2s", "--loss", "--headers", "--store", store)
    for name in names:
        texts = families.QUESTIONS + [f"{text} every 2s" for text in families.QUESTIONS]
        check_questions(program, name, store, texts, table)


def check_questions(program, name, store, whole, table):
    """The answers of an engine to these texts."""
    file = program.queries(whole)
    stored = program.answers("query", "--store", store, "-f", file)
    with engines.ENGINES[name](program.folder) as (options, environment):
        for number, text in enumerate(whole):
            asked = program.queries([text])
            of_store = stored.get(f"q{number}", {})
            try:
                found = program.answers("query", "--store", store, *options, "-f", asked, environment=environment)
                wrong = engines.difference(of_store, found.get("q0", {}))
            except Exception as error:  # What an engine refuses is a difference.
                wrong = str(error)[:500]
            table.line(f"--engine {name}", text, of_store, wrong)


def of_rows(program, texts):
    """Those of the texts that rows of flows answer: the program has no SQL for the others, which read each packet."""
    explained = json.loads(program.call("explain", program.queries(texts), "--every", BASE, "--json"))["files"][0]
    return [text for text, explanation in zip(texts, explained["queries"]) if explanation["sql"]]


def main(root):
    """Compares all, and returns the exit code."""
    options = arguments()
    cluster.end_on_terminate()
    table = Table()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = Program(program_path(root), folder)
        texts = of_rows(program, queries.collect(root))
        capture, store = folder / "capture.pcap", folder / "store"
        program.call("generate", capture, options.spec)
        program.call("run", capture, "--node", "n1", "--every", BASE, "--loss", "--headers", "--store", store)
        print(f"{'':8}{'engine':17}{'windows':>6}{'rows':>8}  {'read from':14}query")
        check(program, capture, store, texts, table)
        check_engine(program, "DuckDB", store, texts, table)
        check_families(program, folder, ["DuckDB", *(["chDB", "Spark"] if options.all else [])], table)
        known = [("pandas", frames.of_pandas), ("pyarrow", frames.of_pyarrow)]
        if options.all:
            known += [("chDB", others.of_chdb), ("Spark", others.of_spark)]
        check_others(program, store, table, known)
        if options.all:
            # Spark looks into each file.
            few = folder / "few"
            program.call("run", capture, "--node", "n1", "--every", "5min", "--loss", "--headers", "--store", few)
            check_engine(program, "chDB", few, texts, table)
            # By its own program some, as each starts a session.
            check_engine(program, "spark-sql", few, texts[:3], table)
            check_engine(program, "Spark", few, texts, table)
    table.summary()
    print("\n".join(table.failures), file=sys.stderr)
    print(f"{len(texts)} queries, {len(table.failures)} differences")
    return 1 if table.failures else 0
