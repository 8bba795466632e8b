"""The virtual environment with DuckDB, and what else a script needs, that it runs in."""

import os
import subprocess
import sys
from pathlib import Path

DUCKDB = "1.4.4"


def target(root):
    """The folder of what is built."""
    return Path(os.environ.get("CARGO_TARGET_DIR") or root / "target")


def enter(root, name="equery-oracle", packages=(f"duckdb=={DUCKDB}",)):
    """Continues in the virtual environment, which is made where it is missing."""
    home = target(root) / name / "-".join(package.replace("==", "-") for package in packages)
    python = home / "bin" / "python"
    if Path(sys.prefix).resolve() == home.resolve():
        return
    marker = home / "complete"
    if not marker.exists():
        print(f"{name}: installs {', '.join(packages)} in {home}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
        marker.touch()
    os.execv(python, [str(python), *sys.argv])
