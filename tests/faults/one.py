"""One run: in network and mount namespaces of its own, it prints what came of it as a line of JSON."""

import json
import math
import random
import threading
import time
import traceback

from . import faults, trace, verdict
from .deployment import Deployment, Failure


# Seconds that a probe may take until it measures, on a loaded machine.
STARTING = 5


def run(root, program, name, seed):
    draw = random.Random(f"{name} {seed}")
    deployment = Deployment(root, program)
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
    start = math.ceil(time.time()) + 2
    over = {}

    def disturb():
        time.sleep(max(0.0, start + at - time.time()))
        try:
            fault(deployment, draw)
        except Exception as error:  # pylint: disable=broad-except
            over["failed"] = str(error)
        ended = time.monotonic()
        over["second"] = time.time() - start
        try:
            deployment.wait("recovery", deployment.is_well)
            over["seconds"] = time.monotonic() - ended
        except Failure as failure:
            over["failed"] = str(failure)

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        trace.send(start)
    finally:
        thread.join()
    if "failed" in over:
        raise Failure(over["failed"])
    deployment.wait("last window", lambda: verdict.is_whole(deployment, start, shifts))
    # What is late may still be taken.
    time.sleep(2)
    missed = range(math.floor(at), math.ceil(over["second"]) + STARTING) if name == "probe-kill" else ()
    found = verdict.windows(deployment, start, shifts, missed)
    fired, expected = verdict.firings(deployment, start, shifts), verdict.expected_firings()
    for query, node, second in sorted(fired ^ expected):
        # A window that the probe missed is not judged, and the one after it may be the first in which the condition is known to hold.
        if node == trace.FAR and {second, second - 1} & set(missed):
            continue
        kind = "did not fire" if (query, node, second) in expected else "fired and should not have"
        found["wrong"].append(f"{query} {kind} on {node} in second {second}")
    if name == "clocks" and not any("clock" in (answer.get("reason") or "") for answer in deployment.answers("each", trace.FAR)):
        found["wrong"].append("no answer says that the clock is off")
    return {"at": round(at, 2), "seconds": round(over["seconds"], 2), "firings": len(fired), **found}


def main(arguments):
    root, program, name, seed = arguments
    print(json.dumps(run(root, program, name, seed)), flush=True)
