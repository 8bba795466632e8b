"""The command line: two programs, random lines, and what differs."""

import argparse
import collections
import concurrent.futures
import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from pathlib import Path

import virtual_environment

from . import compare, helps, runner, values
from .inputs import Inputs
from .lines import Lines

SHOWN = 40


def arguments():
    """The options."""
    parser = argparse.ArgumentParser(
        prog="scripts/same-answers",
        description="Runs random command lines with two builds of the program and prints where their output, exit codes or files differ.",
        epilog="EDISON_TEST_DATA is the folder of real captures, if any. Changes that are meant stand in tests/same_answers/intended.toml.",
    )
    programs = "the program that is right, and the one to compare: without NEW, that of this checkout is built"
    parser.add_argument("programs", nargs="*", metavar="OLD NEW", help=programs)
    against = "build OLD of this commit; without programs and without --against it is the one that intended.toml names"
    parser.add_argument("--against", metavar="COMMIT", help=against)
    parser.add_argument("--lines", type=int, default=1000, metavar="N", help="command lines (1000)")
    parser.add_argument("--seed", default="1", metavar="N", help="what all is drawn from (1)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="lines at a time (as many as cores)")
    parser.add_argument("--only", type=int, metavar="K", help="the line of this number alone")
    parser.add_argument("--show", action="store_true", help="print the lines and end")
    parser.add_argument("--keep", metavar="FOLDER", help="keep what the lines wrote in this folder, which must not be there yet")
    options = parser.parse_args()
    most = 1 if options.against else 2
    if len(options.programs) > most:
        parser.error("at most OLD and NEW" if most == 2 else "with --against there is NEW alone: --against names what OLD is built of")
    if options.jobs < 1 or options.lines < 1:
        parser.error("--jobs and --lines are at least 1")
    return options


class Intended:
    """Changes that are meant."""

    def __init__(self, path):
        settings = tomllib.loads(path.read_text())
        self.against = settings.get("against")
        self.changes = settings.get("change", [])
        self.met = [0] * len(self.changes)
        for change in self.changes:
            if set(change) != {"line", "differs", "why"}:
                sys.exit(f"same-answers: {path}: a change has line, differs and why, and nothing else: {change}")

    def allows(self, text, difference):
        """Whether a difference of this line is meant."""
        for at, change in enumerate(self.changes):
            if re.search(change["line"], text) and any(fnmatch.fnmatch(difference.part, part) for part in change["differs"]):
                self.met[at] += 1
                return True
        return False

    def unmet(self):
        return [change for change, met in zip(self.changes, self.met) if not met]


class Check:
    """All lines with both programs."""

    def __init__(self, old, new, inputs, folder):
        self.old = old
        self.new = new
        self.inputs = inputs
        self.folder = folder
        self.lock = threading.Lock()

    def line(self, number, line, keep):
        """Differences of a line, the exit code of the oracle, and what it refused."""
        folder = self.folder / str(number)
        old = runner.run(self.old, line, self.inputs, folder, "old")
        new = runner.run(self.new, line, self.inputs, folder, "new")
        found = compare.differences(line, old, new, self.read)
        if not keep:
            shutil.rmtree(folder)
        errors = re.findall(r"error: (.*)", old.texts["standard error"]) if old.code == 2 else []
        return found, old.code, re.sub(r"'[^']*'|`[^`]*`|[\w./=-]*\d[\w./]*", "#", errors[0]) if errors else ""

    def read(self, path):
        """What the oracle answers from a file of records or from a store."""
        if path.is_dir():
            words = ["--store", path, "--json", "-q", "select count(*), sum(total_count), sum(total_byte)"]
        else:
            query = "select src_addr, dst_addr, protocol, src_port, dst_port, stime, ltime, total_count, total_byte order by stime"
            words = [path, "--json", "-q", query]
        done = subprocess.run([self.old, "query", *words], capture_output=True, text=True, timeout=runner.LIMIT)
        # The file is in another folder.
        return f"{done.returncode}\n{done.stdout}{done.stderr}".replace(str(path), path.name)


def built(root, folder):
    """The quick program of a checkout. It has the features that `scripts/quick` gives it, in every checkout."""
    words = ["scripts/build", "--profile", "quick", "--no-default-features", "--features", "dpdk"]
    environment = dict(os.environ, CARGO_TARGET_DIR=str(folder))
    if subprocess.run([str(root / words[0]), *words[1:]], cwd=root, env=environment).returncode:
        sys.exit(f"same-answers: the program of {root} cannot be built")
    return folder / "quick" / "edison"


def of_commit(root, commit):
    """The program of a commit, built in a worktree and kept."""
    found = subprocess.run(["git", "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"], cwd=root, capture_output=True, text=True)
    if found.returncode:
        sys.exit(f"same-answers: there is no commit '{commit}' in this clone: fetch it, or name another one with --against")
    commit = found.stdout.strip()
    folder = virtual_environment.target(root).resolve() / "same-answers"
    program = folder / f"edison-{commit[:12]}"
    if not program.exists():
        worktree = folder / "worktree"
        folder.mkdir(parents=True, exist_ok=True)
        add = ["git", "worktree", "add", "--quiet", "--force", "--detach", str(worktree), commit]
        subprocess.run(["git", "worktree", "remove", "--force", str(worktree)], cwd=root, stderr=subprocess.DEVNULL)
        subprocess.run(add, cwd=root, check=True)
        try:
            made = built(worktree, folder / "target")
            shutil.copy2(made, program.with_suffix(".part"))
            program.with_suffix(".part").rename(program)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(worktree)], cwd=root, check=True)
    return program


def programs(root, options, intended):
    """Both programs."""
    given = [Path(program) for program in options.programs]
    if given and not options.against:
        old = given.pop(0)
    elif commit := options.against or intended.against:
        old = of_commit(root, commit)
    else:
        sys.exit("same-answers: name OLD, or a commit with --against")
    new = given[0] if given else built(root, virtual_environment.target(root).resolve())
    for program in (old, new):
        if not os.access(program, os.X_OK):
            sys.exit(f"same-answers: there is no program {program}: build it with scripts/quick")
    versions = [helps.text_of(str(program), "--version").partition("(")[2].strip("()\n") for program in (old, new)]
    if versions[0] != versions[1]:
        sys.exit(f"same-answers: the programs have other features ({versions[0]}, and {versions[1]}): build both in the same way")
    return str(old.resolve()), str(new.resolve())


def main(root):
    """Runs all; the exit code."""
    options = arguments()
    intended = Intended(root / "tests" / "same_answers" / "intended.toml")
    old, new = programs(root, options, intended)
    begun = time.monotonic()
    listed = helps.of_program(old)
    if missing := values.missing(listed):
        sys.exit(f"same-answers: tests/same_answers/values.py has no values of {', '.join(missing)}: add some")
    if options.keep:
        Path(options.keep).mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="same-answers-") as place:
        place = Path(options.keep).resolve() if options.keep else Path(place)
        (place / "in").mkdir()
        lines = Lines(options.seed, listed, Inputs(place / "in", old, options.seed, root))
        numbers = [options.only] if options.only is not None else range(options.lines)
        drawn = {number: lines.line(number) for number in numbers}
        if options.show:
            print("\n".join(f"{number}: {line}" for number, line in drawn.items()))
            return 0
        check = Check(old, new, lines.inputs, place)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            waiting = {number: pool.submit(check.line, number, line, options.keep) for number, line in drawn.items()}
            results = {number: future.result() for number, future in waiting.items()}
    return told(drawn, results, intended, (listed, helps.of_program(new)), time.monotonic() - begun)


def told(drawn, results, intended, listed, seconds):
    """Prints what differs, and the sums; the exit code."""
    table = collections.defaultdict(collections.Counter)
    kinds = collections.defaultdict(list)
    differing = 0
    for number, (found, code, _) in results.items():
        line = drawn[number]
        found = [difference for difference in found if not intended.allows(str(line), difference)]
        differing += bool(found)
        for difference in found:
            kinds[difference.kind].append((number, difference))
        table[line.command].update(["lines", f"exit {code}", *(["differ"] if found else [])])
    for same in list(kinds.values())[:SHOWN]:
        show(drawn, same)
    if len(kinds) > SHOWN:
        print(f"\nand {len(kinds) - SHOWN} more kinds of differences")
    columns = ["lines", "exit 0", "exit 1", "exit 2", "exit 3", "exit hung", "differ"]
    print("\n" + " ".join([f"{'command':12}", *(f"{column:>9}" for column in columns)]))
    for command, row in sorted(table.items()):
        print(" ".join([f"{command:12}", *(f"{row[column]:9}" for column in columns)]))
    old, new = listed
    for command in sorted(old.keys() | new.keys()):
        if added := sorted(new.get(command, {}).keys() - old.get(command, {}).keys()):
            print(f"options of {command} that NEW alone has, and no line: {' '.join(added)}")
    for change in intended.unmet():
        print(f"no line shows this change of intended.toml: {change['line']} ({change['why']})")
    refusals = {refusal for _, _, refusal in results.values() if refusal}
    print(f"lines {len(results)} refusals {len(refusals)} kinds {len(kinds)} differ {differing}")
    print(f"same-answers: took {seconds:.0f} s", file=sys.stderr)
    return 1 if differing else 0


def show(drawn, same):
    """Prints the first of differences of one kind."""
    number, difference = same[0]
    print(f"\nline {number}: {drawn[number]}")
    for file, content in drawn[number].files.items():
        if file != "datagrams":
            print("".join(f"    {file}: {text}\n" for text in content.splitlines()), end="")
    print(f"  {difference.part}\n{difference.shown}")
    if len(same) > 1:
        print(f"    and {len(same) - 1} more of this kind, as in line {same[-1][0]}")
