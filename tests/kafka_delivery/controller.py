"""A controller whose archive has much that was not delivered, and which is killed again and again."""

import json
import os
import random
import sqlite3
import subprocess
import time
from collections import Counter

from .broker import free_ports
from .compare import Found, canonical, whole_answers

KILLS = 6


def killed_controller(edison, broker, scratch, capture):
    """Returns what the archive has, and what the topics have. No probe takes part: what answers would come is written into the archive."""
    folder = scratch / "controller"
    folder.mkdir()
    settings, archive = folder / "controller.toml", folder / "archive.db"
    settings.write_text(
        f'broker = "amqp://edison@127.0.0.1:{free_ports()}"\nnodes = ["Node1"]\nlisten = "127.0.0.1:{free_ports()}"\n'
        f'state = "{archive}"\nkafka = "{broker.address}"\nkafka-topics = "third"\n'
    )
    environment = {**os.environ, "EDISON_BROKER_PASSWORD": "none"}
    command = [edison, "controller", "--config", settings]

    def start():
        return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    # The tables.
    first = start()
    wait_for(archive.exists)
    time.sleep(1)
    first.terminate()
    first.wait(timeout=60)
    query = ["-q", "sums: select sum(total_count) as packets, sum(total_byte) as bytes"]
    lines = subprocess.run(
        [edison, "run", capture, "--every", "10ms", "--node", "Node1", "--json", *query], check=True, stdout=subprocess.PIPE, text=True
    ).stdout.splitlines()
    answers = [json.loads(line) for line in lines]
    with sqlite3.connect(archive) as connection:
        rows = [(a["query"], a["node"], a["window"]["start"], a["window"]["end"], line) for a, line in zip(answers, lines, strict=True)]
        statement = "INSERT INTO answers (query, node, window_start, window_end, revision, body) VALUES (?, ?, ?, ?, 0, ?)"
        connection.executemany(statement, rows)
    connection.close()
    for kill in range(KILLS):
        controller = start()
        time.sleep(random.uniform(0.05, 0.6))
        if kill == KILLS // 2:
            broker.kill()
        controller.kill()
        controller.wait()
        if kill == KILLS // 2:
            broker.start()
    last = start()

    def is_delivered():
        if last.poll() is not None:
            raise SystemExit("scripts/kafka-delivery: the controller has ended")
        return delivered(archive) >= len(answers)

    wait_for(is_delivered)
    last.terminate()
    last.wait(timeout=60)
    found = Found(broker.read("third.answers"))
    return [found], Counter(map(canonical, answers)), whole_answers(found)


def delivered(archive):
    """The number of the last answer that the archive knows to be delivered, read from a copy: the controller holds the file's lock."""
    # The log of what is not in the file yet has the newest number.
    data = b"".join(path.read_bytes() for path in (archive, archive.with_name(archive.name + "-wal")) if path.exists())
    numbers = [int(n) for n in digits_after(data, b"kafka/answers")]
    return max(numbers, default=0)


def digits_after(data, name):
    at = data.find(name)
    while at >= 0:
        begin = end = at + len(name)
        while data[end : end + 1].isdigit():
            end += 1
        if end > begin:
            yield data[begin:end]
        at = data.find(name, end)


def wait_for(condition):
    end = time.monotonic() + 300
    while not condition():
        if time.monotonic() > end:
            raise SystemExit("scripts/kafka-delivery: the controller does not deliver within five minutes")
        time.sleep(0.1)
