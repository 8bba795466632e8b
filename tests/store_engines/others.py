"""Engines that are too large to be installed by every test: ClickHouse in this process (chDB), and Spark."""

import json

# What pandas answers in `frames`, as SQL: text, columns, and what is selected of `flows`.
QUESTIONS = [
    (
        "select dst_port, count(*) as n, sum(total_count) as total_count, sum(total_byte) as total_byte groupby dst_port",
        "dst_port, count(*), sum(total_count), sum(total_byte)",
        "dst_port",
    ),
    ("select src_addr, sum(total_byte) as total_byte groupby src_addr", "hex(src_addr), sum(total_byte)", "src_addr"),
    ("select dst_addr, count(src_addr) as sources groupby dst_addr", "hex(dst_addr), count(DISTINCT src_addr)", "dst_addr"),
    # Spark's mean of whole numbers has four decimals.
    ("select avg(total_byte) as mean, stddev(total_byte) as spread", "avg(CAST(total_byte AS DOUBLE)), stddev_pop(total_byte)", None),
]
KEY = "src_addr, dst_addr, protocol, src_port, dst_port"


def statement(rows, micros, every, columns, group):
    """The SQL of a question over the rows, whose windows begin at `micros` microseconds; a flow is one row of a window."""
    length = every * 1_000_000
    groups = "w" if group is None else f"w, {group}"
    return f"""
        SELECT w, {columns} FROM (
            SELECT {micros} - {micros} % {length} AS w, {KEY}, sum(total_count) AS total_count, sum(total_byte) AS total_byte
            FROM {rows} GROUP BY {micros} - {micros} % {length}, {KEY}
        ) AS flows GROUP BY {groups}"""


def by_window(rows):
    """Rows of values by their window in nanoseconds; addresses come as hexadecimal digits."""
    found = {}
    for start, *values in rows:
        values = [bytes.fromhex(value) if isinstance(value, str) else value for value in values]
        found.setdefault(int(start) * 1000, []).append(tuple(values))
    return found


def of_chdb(store, every):
    """Text, and its rows by window, by ClickHouse."""
    import chdb

    files = str(store / "rows" / "**" / "*.parquet").replace("'", "\\'")
    rows = f"file('{files}', Parquet)"
    for text, columns, group in QUESTIONS:
        asked = statement(rows, "toUnixTimestamp64Micro(toDateTime64(window_start, 6))", every, columns, group)
        told = str(chdb.query(asked + " SETTINGS output_format_json_quote_64bit_integers = 0", "JSONCompact"))
        yield text, by_window(json.loads(told)["data"])


def of_spark(store, every):
    """Text, and its rows by window, by Spark, which takes dates, hours and nodes from the names of folders."""
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    builder = SparkSession.builder.master("local[2]").appName("store-engines")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
    try:
        session.sparkContext.setLogLevel("ERROR")
        session.read.parquet(str(store / "rows")).createOrReplaceTempView("stored")
        for text, columns, group in QUESTIONS:
            asked = statement("stored", "unix_micros(window_start)", every, columns, group)
            yield text, by_window(tuple(row) for row in session.sql(asked).collect())
    finally:
        session.stop()
