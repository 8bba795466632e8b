"""Compares what two programs made of a line: texts, exit codes, and every file."""

import difflib
import re
import sqlite3
from typing import NamedTuple

import duckdb

from . import normal
from .runner import HUNG

SHOWN = 24
# What a store has of each window. How rows are cut into files, and which rollups are made already, depends on the clock.
LEVELS = ("rows", "flows")


class Difference(NamedTuple):
    """A part in which both differ, how, and what differences of the same cause have in common."""

    part: str
    shown: str
    kind: str


def differing(part, one, other):
    """The difference of two texts, as a list; none where they are equal."""
    if one == other:
        return []
    lines = list(difflib.unified_diff(one.splitlines(), other.splitlines(), "before", "now", lineterm="", n=1))[2:]
    removed = next((line[1:] for line in lines if line.startswith("-")), "")
    added = next((line[1:] for line in lines if line.startswith("+")), "")
    at = next((place for place, (a, b) in enumerate(zip(removed, added)) if a != b), min(len(removed), len(added)))
    # Of long lines what is around the place where they differ.
    begin = max(0, at - 120)
    cut = [line[0] + ("…" if begin else "") + line[1:][begin : begin + 400] if len(line) > 400 else line for line in lines]
    more = [f"… and {len(lines) - SHOWN} lines more"] if len(lines) > SHOWN else []
    around = [text[max(0, at - 10) : at + 10] for text in (removed, added)]
    kind = re.sub(r"[\d.]+", "#", " ".join([part, *around]))
    return [Difference(part, "\n".join("    " + line for line in cut[:SHOWN] + more), kind)]


def differences(line, old, new, reader):
    """All parts in which they differ. `reader` is the program that reads formats that only it knows."""
    found = []
    if old.code != new.code:
        found.append(Difference("exit code", f"    {old.code} before, {new.code} now", f"exit code {old.code} {new.code}"))
    elif old.code == HUNG:
        found.append(Difference("exit code", "    both run past the time limit", "exit code hung"))
    for name in sorted(old.texts.keys() | new.texts.keys()):
        texts = [normal.text(side.texts.get(name, "(nothing)"), line, side.ports) for side in (old, new)]
        if name == "standard output" and line.is_in_any_order and line.prints_records:
            texts = [in_order(text) for text in texts]
        found += differing(name, *texts)
    return found + of_files(line, old, new, reader)


def in_order(text):
    return "".join(sorted(text.splitlines(keepends=True)))


def of_files(line, old, new, reader):
    """Differences of files: by their bytes, and where these differ without a meaning, by content."""
    sides = [written(line, side.folder) for side in (old, new)]
    stores = [{path.parts[0] for path in files if path.name == "manifest.sqlite"} for files in sides]
    found = []
    for store in sorted(stores[0] | stores[1]):
        texts = [store_text(side.folder / store, reader) if store in there else "(no store)" for side, there in zip((old, new), stores)]
        texts = [normal.text(text, line, side.ports) for text, side in zip(texts, (old, new))]
        found += differing(f"store {store}", *texts)
    names = [{path for path in files if path.parts[0] not in there} for files, there in zip(sides, stores)]
    for name in sorted(names[0] ^ names[1]):
        side = "before" if name in names[0] else "now"
        found.append(Difference(f"file {name}", f"    only {side}", f"file {name} {side}"))
    for name in sorted(names[0] & names[1]):
        paths = [side.folder / name for side in (old, new)]
        if paths[0].read_bytes() != paths[1].read_bytes():
            texts = [content(path, side, line, reader) for path, side in zip(paths, (old, new))]
            found += differing(f"file {name}", *texts)
    return found


def written(line, folder):
    """The files of a folder but those that were put there, as paths from it."""
    all_files = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {path for path in all_files if path.parts[0] != "in" and str(path) not in line.files}


def content(path, side, line, reader):
    """A file as text, without what varies."""
    if path.suffix == ".parquet":
        return normal.text(parquet_text([path], line.is_in_any_order), line, side.ports)
    if path.suffix == ".ipfix":
        return in_order(reader(path)) if line.is_in_any_order else reader(path)
    text = normal.text(path.read_bytes().decode("latin-1"), line, side.ports)
    return in_order(text) if line.is_in_any_order and path.suffix in (".csv", ".jsonl") else text


def parquet_text(paths, is_in_any_order):
    """Columns, metadata and rows of Parquet files of one kind."""
    connection = duckdb.connect()
    names = [str(path) for path in paths]
    try:
        connection.execute("SET TimeZone = 'UTC'")
        columns = connection.execute("DESCRIBE SELECT * FROM read_parquet(?, union_by_name = true)", [names]).fetchall()
        # As text: it needs no package for time zones.
        table = connection.execute("SELECT COLUMNS(*)::VARCHAR FROM read_parquet(?, union_by_name = true)", [names])
        rows = [repr(row) for row in table.fetchall()]
        metadata = connection.execute("SELECT key, value FROM parquet_kv_metadata(?)", [names]).fetchall()
    except duckdb.Error as error:
        return f"no Parquet: {error}"
    finally:
        connection.close()
    metadata = [f"{bytes(key)} {bytes(value)}" for key, value in metadata]
    rows = sorted(rows) if is_in_any_order else rows
    return "\n".join([*map(repr, columns), *sorted(metadata), *rows]) + "\n"


def store_text(folder, reader):
    """What a store has: rows by level, which times were watched, and what the oracle answers from it."""
    parts = []
    for level in LEVELS:
        files = sorted((folder / level).rglob("*.parquet"))
        if files:
            parts.append(f"{level}:\n{parquet_text(files, True)}")
    manifest = sqlite3.connect(f"file:{folder / 'manifest.sqlite'}?mode=ro", uri=True)
    try:
        # Several nodes write in an order that is theirs: the number of an entry, and of its run, is no part of what it says.
        rows = sorted(map(repr, manifest.execute("SELECT node, kind, first_ns, end_ns, why FROM watched")))
        parts.append("\n".join(["watched:", *rows]))
    except sqlite3.Error as error:
        parts.append(f"no manifest: {error}")
    finally:
        manifest.close()
    return "\n".join([*parts, reader(folder)])
