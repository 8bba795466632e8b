"""One run: in network and mount namespaces of its own, it prints what came of it as a line of JSON."""

import json
import random
import threading
import time
import traceback

from . import faults, trace, verdict
from .deployment import BROKER, Deployment, Failure


def run(root, program, name, seed):
    draw = random.Random(f"{name} {seed}")
    deployment = Deployment(root, program)
    deployment.broker_port = BROKER
    try:
        shifts = faults.prepare(name, deployment, draw)
        deployment.up()
        return disturbed(deployment, name, draw, shifts)
    except trace.Late as late:
        return {"void": str(late)}
    except Failure as failure:
        return {"failed": str(failure), "controller": deployment.log("controller")[-2000:]}
    except Exception:  # pylint: disable=broad-except
        return {"failed": traceback.format_exc()}
    finally:
        deployment.down()


def disturbed(deployment, name, draw, shifts):
    fault = faults.FAULTS[name][0] if name != "none" else faults.none
    at = draw.uniform(trace.FIRST, trace.LAST)
    start = verdict.next_start(time.time())
    over = {}

    def disturb():
        time.sleep(max(0.0, start + at - time.time()))
        try:
            fault(deployment, draw)
        except Exception as error:  # pylint: disable=broad-except
            over["failed"] = str(error)
        ended = time.monotonic()
        try:
            deployment.wait("recovery", deployment.is_well)
            over["seconds"] = time.monotonic() - ended
        except Failure as failure:
            over["failed"] = str(failure)

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        trace.send(start, lambda _: None)
    finally:
        thread.join()
    if "failed" in over:
        raise Failure(over["failed"])
    deployment.wait("last window", lambda: verdict.is_whole(deployment, start, shifts))
    # What is late may still be taken.
    time.sleep(2)
    found = verdict.windows(deployment, start, shifts)
    fired, expected = verdict.firings(deployment, start, shifts), verdict.expected_firings()
    nodes = deployment.nodes()
    for query, node, second in sorted(fired ^ expected):
        # In a gap of the probe's own nothing is judged.
        around = range(second - 1, second + 2)
        if name == "probe-kill" and any(verdict.in_gap(nodes[node], one, start, shifts[node]) for one in around):
            continue
        kind = "did not fire" if (query, node, second) in expected else "fired and should not have"
        found["wrong"].append(f"{query} {kind} on {node} in second {second}")
    if name == "clocks" and not any("clock" in (answer.get("reason") or "") for answer in deployment.answers("each", trace.FAR)):
        found["wrong"].append("no answer says that the clock is off")
    return {"at": round(at, 2), "seconds": round(over["seconds"], 2), "firings": len(fired), **found}


def main(arguments):
    root, program, name, seed = arguments
    print(json.dumps(run(root, program, name, seed)), flush=True)
