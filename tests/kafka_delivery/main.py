"""Kafka is killed in the middle of a run; a run is killed in the middle of its store."""

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from .broker import Broker
from .compare import Found, difference, message_rows, stored_rows, whole_answers
from .controller import killed_controller

QUERIES = """
totals_of: select sum(total_count) as packets, sum(total_byte) as bytes, count(dst_addr) as destinations every 500ms;
talkers: select dst_addr, sum(total_byte) as bytes groupby dst_addr order by bytes desc limit 50 every 500ms;
sources: select src_addr, sum(total_byte) as bytes where dst_addr = talkers.dst_addr groupby src_addr limit 5 every 500ms
    when talkers.bytes > 10000 run 3s;
"""
TRAFFIC = "packets=400k,flows=3k,rate=10k,ipv6=20%,snap=96"
WAIT = "180s"


def main(root, edison):
    with tempfile.TemporaryDirectory(prefix="edison-kafka-") as name:
        scratch = Path(name)
        capture = scratch / "capture.pcap"
        subprocess.run([edison, "generate", capture, TRAFFIC], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        broker = Broker(root, scratch / "kafka")
        broker.start()
        try:
            well = killed_kafka(edison, broker, scratch, capture)
            well &= killed_run(edison, broker, scratch, capture)
            well &= report("controller and Kafka killed", *killed_controller(edison, broker, scratch, capture), "answers")
        finally:
            broker.kill()
        return 0 if nobody(edison, broker, capture) and well else 1


def killed_kafka(edison, broker, scratch, capture):
    """Kafka is killed once half of the capture is measured, and started again once all of it was handed over."""
    queries, rows, store, out, errors = (scratch / name for name in ("q.eq", "rows.parquet", "store", "out.jsonl", "errors"))
    queries.write_text(QUERIES)
    command = [edison, "run", "-", "-f", queries, "--every", "500ms", "--node", "Node1", "--json", "--rows", rows, "--store", store]
    command += ["--kafka", broker.address, "--kafka-rows", "--kafka-wait", WAIT]
    packets = capture.read_bytes()
    half = len(packets) // 2
    with open(out, "wb") as stdout, open(errors, "wb") as stderr:
        run = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=stdout, stderr=stderr)
        try:
            run.stdin.write(packets[:half])
            run.stdin.flush()
            until(lambda: out.read_text().count("\n") >= 30, "the run answers")
            broker.kill()
            run.stdin.write(packets[half:])
            run.stdin.close()
            until(lambda: "messages wait (away)" in errors.read_text(), "the run says that Kafka is away")
            broker.start()
            code = run.wait(timeout=600)
        finally:
            run.kill()
    said = errors.read_text()
    if code != 0 or "takes messages again" not in said:
        print(f"the run ended with {code}: {said}", file=sys.stderr)
        return False
    expected = Counter(json.dumps(json.loads(line), sort_keys=True) for line in out.read_text().splitlines())
    answers, events, of_rows = (Found(broker.read(f"edison.{topic}")) for topic in ("answers", "events", "rows"))
    both = whole_answers(answers) + whole_answers(events)
    good = report("Kafka killed", [answers, events], expected, both, "answers and events")
    good &= bool(events.messages)
    stored = stored_rows(store.glob("rows/**/*.parquet"))
    assert stored == stored_rows([rows]), "the store and the file of rows differ"
    return report("Kafka killed", [of_rows], stored, message_rows(of_rows), "rows") and good


def killed_run(edison, broker, scratch, capture):
    """A run is killed while it stores; another one of later windows goes on with the same store."""
    store = scratch / "store2"
    command = [edison, "run", "-", "--every", "500ms", "--node", "Node2", "--json", "--store", store]
    command += ["--kafka", broker.address, "--kafka-rows", "--kafka-topics", "second", "--kafka-wait", WAIT]
    packets = capture.read_bytes()
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    run = subprocess.Popen(command, stdin=subprocess.PIPE, **quiet)
    try:
        run.stdin.write(packets[: len(packets) * 3 // 4])
        run.stdin.flush()
        until(lambda: any(store.glob("rows/**/*.parquet")), "the store has rows")
        # Anywhere between the first message of rows and the last.
        time.sleep(0.5)
    finally:
        run.send_signal(signal.SIGKILL)
        run.wait()
    later = scratch / "later.pcap"
    subprocess.run([edison, "generate", later, f"{TRAFFIC},start=1704067260,seed=2"], check=True, **quiet)
    with open(later, "rb") as stdin:
        subprocess.run(command, stdin=stdin, check=True, timeout=600, **quiet)
    found = Found(broker.read("second.rows"))
    return report("run killed", [found], stored_rows(store.glob("rows/**/*.parquet")), message_rows(found), "rows")


def nobody(edison, broker, capture):
    """Without Kafka a run says what is missing, and its exit code does."""
    command = [edison, "run", capture, "--every", "500ms", "--json", "--kafka", broker.address, "--kafka-wait", "1s"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600)
    lines = run.stdout.count("\n")
    said = f"Kafka lacks {lines} answers and events"
    print(f"no Kafka: exit code {run.returncode}, {lines} answers reported missing", flush=True)
    if run.returncode != 3 or said not in run.stderr:
        print(run.stderr, file=sys.stderr)
        return False
    return True


def report(when, topics, expected, found, what):
    lost, foreign = difference(expected, found)
    contradictions = sum(topic.contradictions for topic in topics)
    sent, duplicates = sum(topic.sent for topic in topics), sum(topic.duplicates for topic in topics)
    line = f"{when}: {sum(expected.values())} {what} in {sent} messages, {duplicates} duplicates, {lost} lost"
    if foreign or contradictions:
        line += f", {foreign} that should not be there, {contradictions} identifiers of different messages"
    print(line, flush=True)
    return bool(expected) and not (lost or foreign or contradictions)


def until(condition, what):
    end = time.monotonic() + 300
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"scripts/kafka-delivery: {what}: not within five minutes")
        time.sleep(0.05)
