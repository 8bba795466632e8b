#!/usr/bin/env python3
"""pscheduler.py POINTS.json: an active test by perfSONAR for an event of Edison, whose JSON comes on standard input.

    edison watch --kind fired --exec 'python3 examples/pscheduler.py points.json'

The file says which test is made, from where and to where (docs/active-tests.md):

    {"test": {"type": "throughput", "spec": {"duration": "PT10S"}},
     "destination": "dst_addr",
     "points": {"10.2.0.0/16": "ps2.example.net", "0.0.0.0/0": "ps3.example.net"},
     "sources": {"Node1": "ps1.example.net"},
     "results": "active-tests.jsonl"}

Exit codes: 0 the test succeeded; 1 pscheduler or the test failed; 2 wrong settings; 3 no test point is near the event's address.
"""

import ipaddress
import json
import os
import subprocess
import sys
import tempfile


def main():
    if len(sys.argv) != 2:
        return say(2, "one argument is needed: the file of test points")
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            settings = json.load(file)
        points = {ipaddress.ip_network(network): host for network, host in settings["points"].items()}
        test, sources = settings["test"], dict(settings.get("sources", {}))
        test = {"spec": {}, "slip": "PT5M", **test, "type": test["type"]}
        name = settings.get("destination", "dst_addr")
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        return say(2, f"{sys.argv[1]}: {type(error).__name__}: {error}")
    event = json.load(sys.stdin)
    address = event["key"].get(name)
    destination = nearest(points, address)
    if destination is None:
        return say(3, f"event {event['event']}: no test point is near {name} {address}")
    task = task_of(test, sources.get(event["node"]), destination, event)
    code, result = schedule(task)
    succeeded = code == 0 and isinstance(result, dict) and result.get("succeeded") is True
    line = {"event": event["event"], "query": event["query"], "test": test["type"], "spec": task["test"]["spec"], "exit_code": code, "result": result}
    text = json.dumps(line) + "\n"
    if settings.get("results"):
        # One write to the end of the file: several of these programs may run at once.
        with open(settings["results"], "a", encoding="utf-8") as file:
            file.write(text)
    else:
        sys.stdout.write(text)
    return 0 if succeeded else 1


def nearest(points, text):
    """The host of the longest network that has the address; None if there is none."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    near = [network for network in points if network.version == address.version and address in network]
    return points[max(near, key=lambda network: network.prefixlen)] if near else None


def task_of(test, source, destination, event):
    """A task as `pscheduler task --export` writes one. What an event says is in `reference` alone, and is no part of a command."""
    spec = {"schema": 1, **test["spec"], "dest": destination}
    if source is not None:
        spec["source"] = source
    reference = {"edison": {member: event[member] for member in ("event", "kind", "query", "node", "at", "key", "values")}}
    return {"schema": 1, "test": {"type": test["type"], "spec": spec}, "schedule": {"slip": test["slip"]}, "reference": reference}


def schedule(task):
    """Has pscheduler run the task, and returns its exit code and the result."""
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False, encoding="utf-8") as file:
        json.dump(task, file)
    try:
        # The type of the test is that of the imported task.
        words = ["pscheduler", "task", "--import", file.name, "--quiet", "--format", "json", "."]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False)
    except OSError as error:
        say(1, f"pscheduler does not start: {error}")
        return None, None
    finally:
        os.unlink(file.name)
    try:
        return done.returncode, json.loads(done.stdout)
    except ValueError:
        return done.returncode, None


def say(code, line):
    print(f"pscheduler.py: {line}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
