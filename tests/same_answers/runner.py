"""Runs a command line with a program, in a folder in which it finds its inputs, and keeps all that comes of it."""

import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import NamedTuple

# Longer than any line takes on a busy machine.
LIMIT = 60
HUNG = "hung"
PATHS = ["/api/v1/status", "/api/v1/queries", "/api/v1/answers", "/api/v1/events", "/api/v1/nodes", "/api/v1/nothing", "/healthz", "/nothing"]
CLIENTS = [
    ["nodes"],
    ["queries"],
    ["queries", "--json"],
    ["events", "-n", "5"],
    ["events", "--json"],
    ["add", "-q", "more: select count(*)"],
    ["queries"],
    ["cancel", "more"],
    ["story", "none"],
]


class Ended(NamedTuple):
    """What came of a line: its exit code or `hung`, texts by name, the folder of what it wrote, and the ports that it and its senders had."""

    code: object
    texts: dict
    folder: Path
    ports: list


def run(program, line, inputs, folder, name):
    """Runs the line in `folder/w`, which is `folder/NAME` afterwards: both programs see the same paths."""
    work = folder / "w"
    work.mkdir(parents=True)
    (work / "in").symlink_to(inputs.folder)
    for store in line.stores:
        shutil.copytree(inputs.folder.parent / store, work / Path(store).name)
    for file, content in line.files.items():
        (work / file).write_text(content)
    (folder / "tmp").mkdir(exist_ok=True)
    port = free_port() if line.is_live else 0
    words = [word.replace("{port}", str(port)) for word in line.words]
    process = Process(program, words, work, environment(line, folder), line.standard_input)
    texts, ports = {}, [port] if port else []
    if line.kind == "collect":
        ports += send(process, work / "datagrams", port)
    if line.kind == "served":
        texts = asked(process, program, port)
        process.stop(signal.SIGINT)
    code = process.wait()
    texts |= {"standard output": process.text("out"), "standard error": process.text("err")}
    kept = folder / name
    work.rename(kept)
    return Ended(code, texts, kept, ports)


def environment(line, folder):
    """The variables of a run: nothing of the caller's but where programs are. Without a seed the order of records is another in each run."""
    plain = {"PATH": os.environ["PATH"], "TZ": "UTC", "LANG": "C.UTF-8", "HOME": str(folder / "tmp"), "TMPDIR": str(folder / "tmp"), "EDISON_SEED": "1"}
    return plain | line.variables


def free_port():
    """A port that nothing listens on."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp, socket.socket() as tcp:
        tcp.bind(("127.0.0.1", 0))
        udp.bind(("127.0.0.1", tcp.getsockname()[1]))
        return tcp.getsockname()[1]


class Process:
    """A program that runs; its output goes to files, so that it never waits for a reader."""

    def __init__(self, program, words, work, variables, standard_input):
        self.folder = work.parent
        source = work / standard_input if standard_input else "/dev/null"
        with open(source, "rb") as read, open(self.folder / "out", "wb") as out, open(self.folder / "err", "wb") as err:
            # The name is the same for both: helps and reports tell it.
            self.process = subprocess.Popen(
                ["edison", *words], executable=program, cwd=work, env=variables, stdin=read, stdout=out, stderr=err, start_new_session=True
            )

    def text(self, name):
        return (self.folder / name).read_bytes().decode(errors="surrogateescape")

    def says(self, pattern):
        """Waits until standard error has this; the match, or nothing where the program ended before."""
        until = time.monotonic() + LIMIT
        while time.monotonic() < until:
            ended = self.process.poll() is not None
            if match := re.search(pattern, self.text("err")):
                return match
            if ended:
                return None
            time.sleep(0.01)
        return None

    def stop(self, with_signal):
        if self.process.poll() is None:
            self.process.send_signal(with_signal)

    def wait(self):
        try:
            return self.process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            return HUNG


def listens(port):
    """Whether a UDP socket has this port, as the kernel lists them."""
    lines = Path("/proc/net/udp").read_text().splitlines()[1:]
    return any(line.split()[1].endswith(f":{port:04X}") for line in lines)


def send(process, file, port):
    """Sends the datagrams of a file, whose lines have a sender and the bytes in hexadecimal. Returns the ports of the senders."""
    until = time.monotonic() + LIMIT
    while not listens(port) and process.process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    senders = {}
    if not file.exists():
        return []
    for line in file.read_text().splitlines():
        sender, datagram = line.split()
        senders.setdefault(sender, socket.socket(socket.AF_INET, socket.SOCK_DGRAM)).sendto(bytes.fromhex(datagram), ("127.0.0.1", port))
        time.sleep(0.005)
    ports = [sender.getsockname()[1] for sender in senders.values()]
    for sender in senders.values():
        sender.close()
    return ports


def asked(process, program, port):
    """What clients of a run hear once its source has ended."""
    if not process.says(r"stays at http"):
        return {}
    texts = {}
    at = f"http://127.0.0.1:{port}"
    for path in PATHS:
        try:
            with urllib.request.urlopen(at + path, timeout=LIMIT) as answer:
                texts[f"GET {path}"] = f"{answer.status}\n" + answer.read().decode()
        except urllib.error.HTTPError as error:
            texts[f"GET {path}"] = f"{error.code}\n" + error.read().decode()
    plain = {"PATH": os.environ["PATH"], "TZ": "UTC"}
    for words in CLIENTS:
        done = subprocess.run([program, *words, "--controller", at], capture_output=True, text=True, timeout=LIMIT, env=plain)
        texts[f"{len(texts)} {' '.join(words)}"] = f"{done.returncode}\n{done.stdout}{done.stderr}"
    return texts
