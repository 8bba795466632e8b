"""Checks Equery's answers against DuckDB over the packets of captures; `scripts/equery-oracle` runs it."""
