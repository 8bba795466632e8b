"""Answers that pandas and pyarrow compute over the files of rows, without SQL."""

import numpy
import pandas
import pyarrow.compute as compute
import pyarrow.dataset as dataset

SECOND = 1_000_000_000


def pandas_rows(store):
    """All rows as pandas reads the folder: hours and nodes are columns."""
    return pandas.read_parquet(store / "rows")


def by_window(rows, every):
    """The window of each row, in nanoseconds."""
    starts = rows["window_start"].dt.as_unit("ns").astype("int64")
    return starts - starts % (every * SECOND)


def of_pandas(store, every):
    """Text, and its rows by window."""
    rows = pandas_rows(store)
    rows["w"] = by_window(rows, every)
    key = ["src_addr", "dst_addr", "protocol", "src_port", "dst_port"]
    counters = ["total_count", "total_byte", "wire_byte"]
    # A flow is one row of the window.
    flows = rows.groupby(["w", *key], as_index=False, dropna=False)[counters].sum()

    def answer(groups, values):
        found = {}
        for row in flows.groupby(["w", *groups], as_index=False, dropna=False).agg(**values).itertuples(index=False):
            found.setdefault(int(row[0]), []).append(tuple(row[1:]))
        return found

    sums = {"total_count": ("total_count", "sum"), "total_byte": ("total_byte", "sum")}
    yield "select dst_port, count(*) as n, sum(total_count) as total_count, sum(total_byte) as total_byte groupby dst_port", answer(
        ["dst_port"], {"n": ("src_addr", "size"), **sums}
    )
    yield "select src_addr, sum(total_byte) as total_byte groupby src_addr", answer(
        ["src_addr"], {"total_byte": ("total_byte", "sum")}
    )
    yield "select dst_addr, count(src_addr) as sources groupby dst_addr", answer(
        ["dst_addr"], {"sources": ("src_addr", "nunique")}
    )
    yield "select avg(total_byte) as mean, stddev(total_byte) as spread", answer(
        [], {"mean": ("total_byte", "mean"), "spread": ("total_byte", lambda values: float(numpy.std(values.astype(float))))}
    )


def of_pyarrow(store, every):
    """The same by pyarrow's dataset, with a filter that prunes files and row groups: a prefix is a range of addresses."""
    folder = dataset.dataset(store / "rows", partitioning="hive")
    first = bytes(10) + b"\xff\xff" + bytes([10, 0, 0, 0])
    last = bytes(10) + b"\xff\xff" + bytes([10, 255, 255, 255])
    # Parquet's 16 octets come as binary of a fixed size: they are compared as binary.
    table = folder.to_table(columns=["window_start", "src_addr", "protocol", "total_count", "total_byte"])
    source = compute.cast(table["src_addr"], "binary")
    is_inside = compute.and_(compute.greater_equal(source, first), compute.less_equal(source, last))
    table = table.filter(is_inside)
    micros = compute.cast(table["window_start"], "int64")
    length = every * 1_000_000
    window = compute.multiply(compute.divide(micros, length), length)
    table = table.append_column("w", window)
    sums = table.group_by(["w", "protocol"]).aggregate([("total_count", "sum"), ("total_byte", "sum")])
    found = {}
    for row in sums.to_pylist():
        values = (row["protocol"], row["total_count_sum"], row["total_byte_sum"])
        found.setdefault(row["w"] * 1000, []).append(values)
    text = "select protocol, sum(total_count) as total_count, sum(total_byte) as total_byte where src_addr in 10.0.0.0/8 groupby protocol"
    yield text, found
