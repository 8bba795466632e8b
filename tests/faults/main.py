"""Runs each fault several times, in namespaces of their own, and prints the table."""

import argparse
import json
import os
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import one
from .faults import FAULTS

# A run that was not sent in time says nothing and is done again, so often at the most.
TRIES = 4


def main(root):
    parser = argparse.ArgumentParser(prog="scripts/faults", description="Faults of a deployment, and what they lose: nothing.")
    parser.add_argument("faults", nargs="*", metavar="FAULT", help="those to try (default: all)")
    parser.add_argument("--list", action="store_true", help="list the faults")
    parser.add_argument("--times", type=int, default=10, help="runs of each (default: 10)")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time (default: 2)")
    parser.add_argument("--seed", type=int, default=1, help="draws the instants (default: 1)")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table here, too")
    parser.add_argument("--one", nargs=2, metavar=("FAULT", "SEED"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    program = os.path.abspath(os.environ.get("EDISON") or root / os.environ.get("CARGO_TARGET_DIR", "target") / "release/edison")
    if chosen.list:
        for name, (_, what) in FAULTS.items():
            print(f"{name:18}{what}")
        return 0
    if chosen.one:
        one.main((root, program, *chosen.one))
        return 0
    names = chosen.faults or list(FAULTS)
    for name in names:
        if name not in FAULTS and name != "none":
            parser.error(f"'{name}' is no fault: --list names them")
    if os.geteuid() != 0:
        print("scripts/faults: namespaces take root", file=sys.stderr)
        return 2
    tasks = [(name, chosen.seed + time) for time in range(chosen.times) for name in names]
    with ThreadPoolExecutor(chosen.jobs) as pool:
        results = list(pool.map(lambda task: attempt(root, *task), tasks))
    rows = [row(name, [result for (of, _), result in zip(tasks, results) if of == name]) for name in names]
    text = table(rows)
    print(text)
    if chosen.markdown:
        chosen.markdown.write_text(PAGE + text + "\n")
    return 1 if any(result.get("failed") or result.get("void") or result.get("wrong") for result in results) else 0


def attempt(root, name, seed):
    result = {}
    for _ in range(TRIES):
        command = ["unshare", "--net", "--mount", "--propagation", "private", str(root / "scripts/faults"), "--one", name, str(seed)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        try:
            result = json.loads(done.stdout.splitlines()[-1])
        except (IndexError, ValueError):
            result = {"failed": (done.stderr.strip().splitlines() or ["it printed nothing"])[-1]}
        if "void" not in result:
            break
    print(f"{name} {seed}: {json.dumps(result)}", file=sys.stderr, flush=True)
    return result


def row(name, results):
    ran = [result for result in results if "windows" in result]
    def total(key):
        return sum(result[key] for result in ran)
    seconds = [result["seconds"] for result in ran]
    recovered = f"{statistics.median(seconds):.1f} ({max(seconds):.1f})" if seconds else "-"
    wrong = sum(bool(result["wrong"]) for result in ran) + len(results) - len(ran)
    what = FAULTS.get(name, (None, "nothing happens"))[1]
    return (what, len(results), total("windows"), total("lost"), total("doubled"), total("late"), total("gaps"), recovered, wrong)


COLUMNS = ("fault", "runs", "windows", "lost", "doubled", "late", "gaps by name", "seconds to recover: median (most)", "runs that differ")


def table(rows):
    lines = [COLUMNS, ["---"] * len(COLUMNS), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


PAGE = """# Faults, and what they lose

`make faults` makes this table: two probes, RabbitMQ and a controller of their own, with windows of a second. In each of 36 seconds the same frames are
sent, three seconds are floods, which start a query. Each fault happens at a random instant. Afterwards the answers of each window must be those of the
frames that were sent, and the firings those of the floods, whether late or not. A window that a killed probe missed must be a gap by name. What recovers does so without help: it has when
the controller has the broker and both nodes up, with their tasks, and nothing waits in spools. A probe that is back within a second or two was never seen as down.

"""
