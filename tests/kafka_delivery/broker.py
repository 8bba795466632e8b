"""A Kafka that is started, killed and read: scripts/kafka."""

import json
import random
import socket
import subprocess


class Broker:
    def __init__(self, root, folder):
        self.script, self.folder = root / "scripts" / "kafka", folder
        self.port = free_ports()
        self.address = f"127.0.0.1:{self.port}"

    def call(self, command, *arguments):
        done = subprocess.run([self.script, command, *map(str, arguments)], stdout=subprocess.PIPE, text=True, check=True)
        return done.stdout

    def start(self):
        self.call("start", self.folder, self.port)

    def kill(self):
        self.call("kill", self.folder)

    def stop(self):
        self.call("stop", self.folder)

    def read(self, topic):
        """The messages of a topic: identifiers and values."""
        messages = []
        for line in self.call("read", self.folder, topic).splitlines():
            identifier, _, value = line.partition("\t")
            message = json.loads(value)
            assert message["schema"] == 1 and message["id"] == identifier, line[:200]
            messages.append(message)
        return messages


def free_ports():
    """The first of two ports below those that connections out get."""
    for _ in range(1000):
        port = random.randrange(20_000, 32_000, 2)
        with socket.socket() as one, socket.socket() as other:
            try:
                one.bind(("127.0.0.1", port))
                other.bind(("127.0.0.1", port + 1))
                return port
            except OSError:
                pass
    raise SystemExit("no port is free")
