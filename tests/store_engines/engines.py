"""Engines that the program asks itself (`edison query --engine`): their answers are to be those of the store, whole."""

import os
import shutil
import stat
import sys
from contextlib import contextmanager
from pathlib import Path

from .cluster import chdb_front, spark_cluster, spark_front
from .values import are_same

# What answers have beside the rows that all engines can know. Coverage and levels are Edison's own.
MEMBERS = ("rows", "rest", "bounds", "window", "watched", "status", "columns", "levels", "empty")


def duckdb_program(folder):
    """DuckDB's program, which its package leaves without the right to be run."""
    program = Path(sys.executable).parent / "duckdb"
    if os.access(program, os.X_OK):
        return program
    copy = folder / "duckdb"
    if not copy.exists():
        shutil.copy(program, copy)
        copy.chmod(copy.stat().st_mode | stat.S_IXUSR)
    return copy


@contextmanager
def duckdb(folder):
    """How the program asks DuckDB, and in which environment."""
    yield ["--engine", "duckdb", "--engine-program", duckdb_program(folder)], None


@contextmanager
def chdb(_folder):
    """How the program asks chDB behind an HTTP front."""
    with chdb_front() as url:
        yield ["--engine", "clickhouse", "--engine-url", url], None


@contextmanager
def spark_program(folder):
    """How the program asks a cluster of Spark by `spark-sql`."""
    with spark_cluster(folder) as (master, environment):
        program = Path(sys.executable).parent / "spark-sql"
        yield ["--engine", "spark", "--engine-url", master, "--engine-program", program], environment


@contextmanager
def spark(folder):
    """The same through one session for all questions."""
    with spark_cluster(folder) as (master, environment), spark_front(master, environment) as port:
        program = folder / "spark-sql"
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{Path(__file__).resolve().parent / "spark_front.py"}" "$@"\n')
        program.chmod(0o755)
        yield ["--engine", "spark", "--engine-url", master, "--engine-program", program], {**environment, "SPARK_FRONT_PORT": str(port)}


ENGINES = {"DuckDB": duckdb, "chDB": chdb, "spark-sql": spark_program, "Spark": spark}


def difference(own, other):
    """Where an engine's answers to a question are not those of the store."""
    if own.keys() != other.keys():
        return f"windows {sorted(own.keys() ^ other.keys())[:3]} on one side only"
    for start, answer in own.items():
        for member in MEMBERS:
            if not are_same(answer.get(member), other[start].get(member)):
                return f"{member} of {start}: {str(answer.get(member))[:300]} and {str(other[start].get(member))[:300]}"
    return None
