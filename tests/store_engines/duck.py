"""The SQL of a plan, run by DuckDB over the files of rows."""

import datetime

import duckdb

SECOND = 1_000_000_000


class Duck:
    """The rows of a store as DuckDB opens them."""

    def __init__(self, store):
        self.connection = duckdb.connect()
        self.connection.execute("SET TimeZone = 'UTC'")
        files = str(store / "rows" / "**" / "*.parquet").replace("'", "''")
        self.connection.execute(f"CREATE VIEW rows AS SELECT * FROM read_parquet('{files}', hive_partitioning = true)")

    def answer(self, steps):
        """The rows of each window, without its start and node."""
        named = [f'{step["name"]} AS (\n{step["sql"]}\n)' for step in steps if step.get("name")]
        statement = f"WITH {', '.join(named)}\n{steps[-1]['sql']}"
        found = {}
        for start, _node, *values in self.connection.execute(statement).fetchall():
            moment = start.replace(tzinfo=start.tzinfo or datetime.timezone.utc)
            found.setdefault(int(moment.timestamp()) * SECOND, []).append(tuple(values))
        return found
