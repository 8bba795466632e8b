"""Times queries on the rows of a Parquet file: duckdb.py FILE TABLE|VIEW < QUERIES. Rows are loaded into a table before, or read from the
file by each query. A line `NAME<TAB>SQL` each; prints `NAME<TAB>MILLISECONDS`."""

import statistics
import sys
import time

import duckdb

ROUNDS = 3

connection = duckdb.connect()
connection.execute("SET threads = 1")
connection.execute(f"CREATE {sys.argv[2]} rows AS SELECT * FROM read_parquet('{sys.argv[1]}')")
for line in sys.stdin:
    name, sql = line.rstrip("\n").split("\t")
    times = []
    for _ in range(ROUNDS):
        began = time.process_time()
        connection.execute(sql).fetchall()
        times.append(time.process_time() - began)
    print(f"{name}\t{statistics.median(times) * 1000}")
