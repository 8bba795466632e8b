"""A deployment in a network namespace of its own: what runs, and what the controller knows."""

import calendar
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request

from . import trace

BROKER, CUT, WEB = 15672, 15680, 8080


class Failure(Exception):
    """What must not happen: one line."""


def seconds_of(text):
    """Of a time as 2026-01-01T00:00:00.000000000Z, since 1970."""
    return calendar.timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")) + float("0" + text[19:].rstrip("Z"))


class Deployment:
    def __init__(self, root, program):
        self.root, self.program = root, program
        self.folder = tempfile.mkdtemp(prefix="edison-faults-")
        os.chmod(self.folder, 0o755)  # RabbitMQ's user has a folder in it
        self.running = {}
        self.wrapped = {}
        self.state = os.path.join(self.folder, "state")
        os.mkdir(self.state)

    # What runs

    def call(self, *command):
        with tempfile.TemporaryFile("w+") as out:
            code = subprocess.call([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=out, stderr=out)
            out.seek(0)
            said = out.read().strip()
        if code:
            raise Failure(f"{' '.join(map(str, command))}: {said.splitlines()[-1] if said else code}")
        return said

    def broker(self, command, *arguments):
        return self.call(self.root / "scripts/broker", command, os.path.join(self.folder, "broker"), *arguments)

    def start(self, name, *command):
        with open(os.path.join(self.folder, name + ".log"), "a") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        self.running[name] = process

    def kill(self, name):
        process = self.running.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def signal(self, name, by):
        os.killpg(self.running[name].pid, by)

    def write(self, name, **members):
        """A configuration file: JSON's strings and lists of them are TOML's too."""
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.writelines(f"{key} = {json.dumps(value)}\n" for key, value in members.items())
        return path

    def start_controller(self):
        self.start("controller", *self.wrapped.get("controller", []), self.program, "controller", "--config", os.path.join(self.folder, "controller.toml"))

    def start_probe(self, node):
        self.start(node, *self.wrapped.get(node, []), self.program, "probe", "--config", os.path.join(self.folder, node + ".toml"))

    def up(self):
        """Starts all, in this process's own network namespace."""
        self.call("ip", "link", "set", "lo", "up")
        self.call("ip", "link", "add", trace.NEAR, "type", "veth", "peer", "name", trace.FAR)
        for name in (trace.NEAR, trace.FAR):
            self.call("ip", "link", "set", name, "addrgenmode", "none")
            with open(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6", "w") as file:
                file.write("1")
            self.call("ip", "link", "set", name, "up")
        self.broker("start", BROKER)
        # What the far probe's way to the broker leads through, so that it can be cut.
        self.start("link", "socat", f"TCP-LISTEN:{CUT},bind=127.0.0.1,fork,reuseaddr", f"TCP:127.0.0.1:{BROKER}")
        queries = os.path.join(self.folder, "chain.eq")
        with open(queries, "w") as file:
            file.write(trace.QUERIES)
        url = "amqp://guest:guest@127.0.0.1:{}"
        self.write("controller.toml", broker=url.format(BROKER), nodes=[trace.NEAR, trace.FAR], every="1s", queries=[queries],
                   state=os.path.join(self.state, "controller.db"), listen=f"127.0.0.1:{WEB}")
        for node, port in ((trace.NEAR, BROKER), (trace.FAR, CUT)):
            self.write(node + ".toml", broker=url.format(port), node=node, interface=[node], every="1s", memory="64MiB",
                       **{"spool-file": os.path.join(self.folder, node + ".spool")})
        self.start_controller()
        for node in (trace.NEAR, trace.FAR):
            self.start_probe(node)
        self.wait("both probes", lambda: self.is_well() and all(self.answers("each", node) for node in (trace.NEAR, trace.FAR)))

    def down(self):
        for name in list(self.running):
            self.signal(name, signal.SIGCONT)
            self.kill(name)
        try:
            self.broker("stop")
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def log(self, name):
        with open(os.path.join(self.folder, name + ".log")) as file:
            return file.read()

    # What the controller knows

    def get(self, path):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{WEB}/api/v1{path}", timeout=5) as answer:
                return json.load(answer)
        except OSError:
            return None

    def wait(self, what, condition, seconds=120):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := condition():
                return found
            time.sleep(0.1)
        raise Failure(f"there is no {what} after {seconds} s")

    def answers(self, query, node):
        found = self.get(f"/answers?query={query}&node={node}&limit=10000")
        return [answer for answer in (found or {}).get("answers", []) if answer["window"]]

    def events(self):
        return (self.get("/events?limit=10000") or {}).get("events", [])

    def nodes(self):
        return {node["name"]: node for node in (self.get("/status") or {}).get("nodes", [])}

    def is_well(self):
        """The broker and both nodes are there, with their tasks, and windows come in time."""
        status = self.get("/status")
        # A controller that has just begun knows nothing of its broker.
        if not status or not status["broker"] or status["broker"]["state"] != "connected":
            return False
        nodes = status["nodes"]
        # A node whose clock is behind is always late.
        up = ("up", "late") if self.wrapped else ("up",)
        applied = all(node["state"] in up and node["tasks"]["wanted"] == node["tasks"]["applied"] for node in nodes)
        return applied and all(node["spool"] is None or int(node["spool"]["messages"]) < 5 for node in nodes)
