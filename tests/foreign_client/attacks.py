"""What a probe does that somebody else has taken over. Each step returns what the controller has to refuse, by name."""

import base64
import json
import os
import time
from collections import Counter

import pika

from . import envelope
from .client import RESULTS, nobody

# More than any message of Edison has, and less than RabbitMQ 3.10 takes.
LARGE = 100_000_000
MAGIC = b"\x28\xb5\x2f\xfd"


def strangers(rogue, options):
    """What the broker itself refuses: others' names, keys and queues."""
    victim = options.victim
    for user, password in [(rogue.node, ""), (rogue.node, "guess"), ("nobody", "nobody"), (victim, os.environ["FOREIGN_PASSWORD"])]:
        rogue.refused[nobody(rogue.port, user, password)] += 1
    good = envelope.message(envelope.heartbeat(), victim, sequence=0)
    for exchange, key in [
        (RESULTS, victim),
        (RESULTS, f"{rogue.node}.{victim}"),
        (RESULTS, "#"),
        (RESULTS, ""),
        ("", RESULTS),
        ("", f"edison.tasks.{victim}"),
        ("edison.tasks", rogue.node),
        ("edison.dead", ""),
        ("amq.topic", rogue.node),
    ]:
        rogue.may_not(f"{exchange} {key}", lambda channel: channel.basic_publish(exchange, key, good, rogue.properties()))
    for user in [victim, "controller", "guest"]:
        forged = rogue.properties(user_id=user)
        rogue.may_not(f"user-id {user}", lambda channel: channel.basic_publish(RESULTS, rogue.node, good, forged))
    for queue in ["mine", f"edison.tasks.{rogue.node}", f"edison.tasks.{victim}", RESULTS]:
        rogue.may_not(f"declare {queue}", lambda channel: channel.queue_declare(queue, durable=True))
        rogue.may_not(f"declare {queue}", lambda channel: channel.queue_declare(queue, exclusive=True))
    for queue in [f"edison.tasks.{victim}", RESULTS, "edison.dead"]:
        rogue.may_not(f"consume {queue}", lambda channel: channel.basic_consume(queue, lambda *_: None))
        rogue.may_not(f"get {queue}", lambda channel: channel.basic_get(queue))
        rogue.may_not(f"purge {queue}", lambda channel: channel.queue_purge(queue))
        rogue.may_not(f"delete {queue}", lambda channel: channel.queue_delete(queue))
    own = f"edison.tasks.{rogue.node}"
    rogue.may_not("bind", lambda channel: channel.queue_bind(own, RESULTS, "#"))
    rogue.may_not("delete an exchange", lambda channel: channel.exchange_delete(RESULTS))
    rogue.may_not("make an exchange", lambda channel: channel.exchange_declare("mine", "topic"))
    return Counter()


def large(rogue, options):
    """Bodies that are larger than any message: one, then several at once."""
    expected = Counter()
    for number in range(options.count):
        # As the begin of a message, and as what is none.
        begin = MAGIC if number % 2 == 0 else b""
        expected["too_large"] += rogue.publish(begin + bytes(LARGE - len(begin)))
    # A little too large, and the largest that may be.
    expected["too_large"] += rogue.publish(bytes((16 << 20) + 1))
    expected["damaged"] += rogue.publish(bytes(16 << 20))
    return expected


def bombs(rogue, options):
    """Small messages that become large ones."""
    expected = Counter()
    expected["too_large"] += rogue.publish(envelope.pack(b" " * ((64 << 20) + 1)))
    expected["too_large"] += rogue.publish(envelope.pack(b"[" + b"1," * (5 << 20) + b"1]"))
    expected["malformed"] += rogue.publish(envelope.pack(b"[" * (60 << 20)))
    # The most values that a message may have, in an answer that nobody asked for.
    template = next(
        answer
        for one in recorded(options.recorded)
        for answer in envelope.unpack(one["body"])["body"].get("window", {}).get("answers", [])
        if answer["query"] == "all"
    )
    now = int(time.time())
    times = envelope.window(now)["window"]["window"]
    answer = json.dumps({**template, "query": "unheard", "window": times, "rows": "ROWS"})
    rows = ",".join([json.dumps(template["rows"][0])] * 2_000_000)
    answer = json.loads(json.dumps(answer)).replace('"ROWS"', f"[{rows}]")
    body = json.dumps(envelope.window(now, ["ANSWER"])).replace('"ANSWER"', answer)
    which = json.dumps({"node": rogue.node, "boot": envelope.boot(), "sequence": 1})
    expected["unasked"] += rogue.publish(envelope.pack(f'{{"version":1,"id":{which},"body":{body}}}'.encode()))
    return expected


def broken(rogue, options):
    """Messages that are cut, changed, of other formats, other versions, and in another's name."""
    expected = Counter()
    publish = rogue.publish
    node = rogue.node
    whole = next(one["body"] for one in recorded(options.recorded) if one["user"] == node)
    for at in range(0, len(whole), max(1, len(whole) // 40)):
        expected["truncated"] += publish(whole[:at])
    for at in range(0, len(whole), max(1, len(whole) // 20)):
        changed = bytearray(whole)
        # Not the fifth bit: zstd leaves one of a frame's begin unused.
        changed[at] ^= 0x01
        expected["truncated|damaged|malformed"] += publish(bytes(changed))
    # Arrow's stream of one column without rows, whole and cut, as what it is and as what it is not.
    arrow = b"\xff\xff\xff\xff\x78\x00\x00\x00\x10\x00\x00\x00" + bytes(0x74) + b"\xff\xff\xff\xff\0\0\0\0"
    stream = "application/vnd.apache.arrow.stream"
    for cut in [arrow, arrow[:50]]:
        expected["foreign"] += publish(cut, rogue.properties(content_type=stream, content_encoding=None))
        expected["foreign"] += publish(envelope.pack(cut), rogue.properties(content_type=stream))
        expected["damaged"] += publish(cut)
        expected["malformed"] += publish(envelope.pack(cut))
    expected["truncated"] += publish(envelope.pack(arrow)[:-6])
    for properties in [pika.BasicProperties(), rogue.properties(content_encoding="gzip"), rogue.properties(content_type="text/html")]:
        expected["foreign"] += publish(whole, properties)
    beat = envelope.heartbeat()
    expected["too_old"] += publish(envelope.message(beat, node, sequence=0, version=0))
    for version in [2, 3, 2**32 - 1]:
        expected["too_new"] += publish(envelope.message(beat, node, sequence=0, version=version))
        # What follows the version is not looked at: its envelope may be another one.
        expected["too_new"] += publish(envelope.pack(json.dumps({"version": version, "arrow": True}).encode()))
    for version in [-1, 2**32, 1.5, "1", None]:
        expected["malformed"] += publish(envelope.message(beat, node, sequence=0, version=version))
    for body in [None, {}, {"window": {}}, {"tasks": []}, {"window": {"window": 5, "answers": []}}]:
        expected["malformed"] += publish(envelope.message(body, node))
    # A heartbeat with a number, and a window without one.
    expected["malformed"] += publish(envelope.message(beat, node, sequence=1))
    expected["malformed"] += publish(envelope.message(envelope.window(0), node, sequence=0))
    for wrong in [options.victim, "controller"]:
        name = "wrong_user" if wrong == options.victim else "unknown_node"
        expected[name] += publish(envelope.message(beat, wrong, sequence=0))
    expected["wrong_user"] += publish(envelope.message(beat, node, sequence=0), rogue.properties(user_id=None))
    # Of windows that no deployment has.
    now = int(time.time())
    later = envelope.window(now + 3600)
    longer = {"window": {"window": {"start": envelope.time(now), "end": envelope.time(now + 7)}, "answers": []}}
    for body in [later, longer]:
        expected["wrong_window"] += publish(envelope.message(body, node))
    return expected


def replays(rogue, options):
    """What was on the wire before, again: of its own, and of others."""
    expected = Counter()
    for one in recorded(options.recorded):
        if one["user"] == rogue.node:
            # Not refused: they were taken before.
            if envelope.unpack(one["body"])["id"]["sequence"] > 0:
                for _ in range(3):
                    expected["doubled"] += rogue.publish(one["body"])
            continue
        # In another's name: under the own key and user, and then under the other's.
        expected["wrong_user"] += rogue.publish(one["body"])
        rogue.may_not(
            "another's user-id", lambda channel: channel.basic_publish(RESULTS, rogue.node, one["body"], rogue.properties(user_id=one["user"]))
        )
        rogue.may_not("another's key", lambda channel: channel.basic_publish(RESULTS, one["user"], one["body"], rogue.properties()))
    return expected


def tiny(rogue, options):
    """Very many small messages, without a pause."""
    none, usual = pika.BasicProperties(), rogue.properties()
    empty = envelope.pack(b"{}")
    messages = []
    for number in range(options.count):
        match number % 5:
            case 0:
                messages.append(("foreign", b"", none))
            case 1:
                messages.append(("damaged", b"x", usual))
            case 2:
                messages.append(("malformed", empty, usual))
            case 3:
                messages.append((None, envelope.message(envelope.heartbeat(), rogue.node, sequence=0), usual))
            case _:
                # Each of another start, and of a window that is long over.
                messages.append(("too_late", envelope.message(envelope.window(number), rogue.node), usual))
    taken = rogue.flood(messages)
    del taken[None]
    return taken


def record(rogue, options):
    """Not an attack: the operator writes down what goes over the wire, from a queue that was bound for that."""
    channel = rogue.connection.channel()
    count = Counter()
    with open(options.recorded, "w") as file:
        while True:
            method, properties, body = channel.basic_get("recorder", auto_ack=True)
            if method is None:
                return count
            line = {"user": properties.user_id, "body": base64.b64encode(body).decode()}
            file.write(json.dumps(line) + "\n")
            count[f"of {properties.user_id}"] += 1
            told = envelope.unpack(body)["body"]
            for answer in told.get("window", {}).get("answers", []):
                if answer["query"] == "all":
                    count[f"frames of {properties.user_id}"] += sum(row["n"] for row in answer["rows"])


def tap(rogue, options):
    """The queue for it."""
    channel = rogue.connection.channel()
    channel.queue_declare("recorder", durable=True)
    channel.queue_bind("recorder", RESULTS, "#")
    return Counter()


def recorded(path):
    """The messages that were written down."""
    with open(path) as file:
        for line in file:
            one = json.loads(line)
            yield {"user": one["user"], "body": base64.b64decode(one["body"])}


STEPS = {step.__name__: step for step in [strangers, large, bombs, broken, replays, tiny, record, tap]}
