"""The virtual environment with DuckDB that the oracle runs in."""

import os
import subprocess
import sys
from pathlib import Path

DUCKDB = "1.4.4"


def target(root):
    """The folder of what is built."""
    return Path(os.environ.get("CARGO_TARGET_DIR") or root / "target")


def enter(root):
    """Continues in the virtual environment, which is made where it is missing."""
    home = target(root) / "equery-oracle" / f"duckdb-{DUCKDB}"
    python = home / "bin" / "python"
    if Path(sys.prefix).resolve() == home.resolve():
        return
    marker = home / "complete"
    if not marker.exists():
        print(f"equery-oracle: installs DuckDB {DUCKDB} in {home}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", f"duckdb=={DUCKDB}"], check=True)
        marker.touch()
    os.execv(python, [str(python), *sys.argv])
