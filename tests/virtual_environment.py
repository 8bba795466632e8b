"""Virtual environments with packages of PyPI, in which scripts run."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path


def target(root):
    """The folder of what is built."""
    return Path(os.environ.get("CARGO_TARGET_DIR") or root / "target")


def make(root, name, packages):
    """The environment of this name with these packages (`duckdb==1.4.4`, or `duckdb==1.4.4 --hash=sha256:…` for all), made where it is missing."""
    folder = target(root) / name
    home = folder / "-".join(package.split()[0].replace("==", "-") for package in packages)
    folder.mkdir(parents=True, exist_ok=True)
    marker = home / "complete"
    with open(folder / "lock", "w") as lock:
        # Another one may be making it.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not marker.exists():
            print(f"{name}: installs {', '.join(package.split()[0] for package in packages)} in {home}", file=sys.stderr)
            subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
            # Hashes are taken from a file alone.
            wanted = home / "requirements.txt"
            wanted.write_text("".join(package + "\n" for package in packages))
            subprocess.run([home / "bin" / "python", "-m", "pip", "install", "--quiet", "--requirement", wanted], check=True)
            marker.touch()
    return home


def enter(root, name, packages):
    """Continues in that environment."""
    home = make(root, name, packages)
    if Path(sys.prefix).resolve() == home.resolve():
        return
    python = home / "bin" / "python"
    os.execv(python, [str(python), *sys.argv])
