"""What is started for a comparison and stopped after it: chDB behind an HTTP front, and a cluster of Spark on this machine."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

# Longer than anything here takes to start.
PATIENCE = 120


def free_ports(number):
    """Ports that nobody listens at."""
    sockets = [socket.socket() for _ in range(number)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def end_on_terminate():
    """A signal that ends this process ends what it has started, too."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


@contextmanager
def running(command, **options):
    """A process, with all that it starts ended at the end."""
    process = subprocess.Popen(list(map(str, command)), start_new_session=True, **options)
    try:
        yield process
    finally:
        try:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(20)
        except ProcessLookupError:
            process.wait()
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def front(name, *arguments, environment=None):
    """The port of one of the fronts beside this file."""
    path = Path(__file__).resolve().parent / name
    with running([sys.executable, path, *arguments], stdout=subprocess.PIPE, text=True, env=environment) as process:
        said = process.stdout.readline()
        if not said:
            raise RuntimeError(f"{name} did not start")
        yield json.loads(said)["port"]


@contextmanager
def chdb_front():
    """The address of chDB behind an HTTP front."""
    with front("chdb_front.py") as port:
        yield f"http://127.0.0.1:{port}"


@contextmanager
def spark_front(master, environment):
    """The port of a session of a cluster."""
    with front("spark_front.py", master, environment=environment) as port:
        yield port


def wait_until(what, is_so):
    """Waits until something is so."""
    began = time.monotonic()
    while not is_so():
        if time.monotonic() - began > PATIENCE:
            raise RuntimeError(f"waited in vain for {what}")
        time.sleep(0.2)


@contextmanager
def spark_cluster(folder, workers=2):
    """The address of the master of a standalone cluster, all of which listens at 127.0.0.1 alone; and the environment of its clients."""
    binaries = Path(sys.executable).parent
    environment = {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_HOSTNAME": "127.0.0.1",
        "SPARK_NO_DAEMONIZE": "1",
        "SPARK_LOCAL_DIRS": str(folder / "spark"),
        "SPARK_DAEMON_MEMORY": "512m",
        "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}",
    }
    port, web, *webs = free_ports(2 + workers)
    log = folder / "spark.log"
    master = f"spark://127.0.0.1:{port}"
    of = "org.apache.spark.deploy"
    with open(log, "w") as words:
        output = {"stdout": words, "stderr": words, "env": environment}
        master_command = [binaries / "spark-class", f"{of}.master.Master", "--host", "127.0.0.1", "--port", port, "--webui-port", web]
        with running(master_command, **output):
            wait_until("Spark's master", lambda: "Bound MasterWebUI" in log.read_text() or "started at" in log.read_text())
            commands = [
                [binaries / "spark-class", f"{of}.worker.Worker", "--host", "127.0.0.1", "--webui-port", each, "--cores", "1", "--memory", "1g"]
                + ["--work-dir", folder / f"worker{number}", master]
                for number, each in enumerate(webs)
            ]
            with running(commands[0], **output), running(commands[1], **output):
                registered = lambda: log.read_text().count("Successfully registered with master") >= workers  # noqa: E731
                wait_until("Spark's workers", registered)
                yield master, environment
