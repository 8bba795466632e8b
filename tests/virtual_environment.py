"""Virtual environments with packages of PyPI, in which scripts run."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path


def target(root):
    """The folder of what is built."""
    return Path(os.environ.get("CARGO_TARGET_DIR") or root / "target")


def enter(root, name, packages):
    """Continues in the environment of this name with these packages (`duckdb==1.4.4`), which is made where it is missing."""
    folder = target(root) / name
    home = folder / "-".join(package.replace("==", "-") for package in packages)
    python = home / "bin" / "python"
    if Path(sys.prefix).resolve() == home.resolve():
        return
    folder.mkdir(parents=True, exist_ok=True)
    marker = home / "complete"
    with open(folder / "lock", "w") as lock:
        # Another one may be making it.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not marker.exists():
            print(f"{name}: installs {', '.join(packages)} in {home}", file=sys.stderr)
            subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
            subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
            marker.touch()
    os.execv(python, [str(python), *sys.argv])
