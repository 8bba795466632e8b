"""The faults. Each begins when it is called, and returns once it is over."""

import os
import signal
import time

from . import trace
from .deployment import BROKER

BACK = 1.0  # seconds until what was killed is started again, as a service manager does


def none(_, __):
    pass


def broker_kill(deployment, _):
    deployment.broker("kill")
    time.sleep(BACK)
    deployment.broker("start", BROKER)


def broker_restart(deployment, _):
    deployment.broker("stop")
    deployment.broker("start", BROKER)


def broker_disk_full(deployment, draw):
    deployment.broker("ctl", "set_disk_free_limit", "100000GB")
    time.sleep(draw.uniform(3, 10))
    deployment.broker("ctl", "set_disk_free_limit", "100MB")


def controller_kill(deployment, _):
    deployment.kill("controller")
    time.sleep(BACK)
    deployment.start_controller()


def probe_kill(deployment, _):
    deployment.kill(trace.FAR)
    time.sleep(BACK)
    deployment.start_probe(trace.FAR)


def link_cut(deployment, _):
    # What is sent is neither refused nor answered.
    deployment.signal("link", signal.SIGSTOP)
    time.sleep(15)
    deployment.signal("link", signal.SIGCONT)


def deliveries(deployment, draw):
    """What was delivered and not acknowledged is delivered again, and what was sent and not confirmed is sent again, in another order."""
    for _ in range(4):
        deployment.broker("ctl", "close_all_connections", "fault")
        time.sleep(draw.uniform(0.2, 2))


def store_full(deployment, draw):
    filler = os.path.join(deployment.state, "filler")
    with open(filler, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass
    time.sleep(draw.uniform(3, 10))
    os.remove(filler)


def clocks(deployment, _):
    """The far probe's clock is 5 s ahead or behind the others from the begin on: see `prepare`."""


def prepare(name, deployment, draw):
    """What a fault needs before all is started. Returns by how much the clock of each node is ahead of the trace's, seconds."""
    shifts = {trace.NEAR: 0, trace.FAR: 0}
    if name == "store-full":
        deployment.call("mount", "-t", "tmpfs", "-o", "size=24M", "tmpfs", deployment.state)
    if name == "clocks":
        # Frames have the kernel's own time, which a clock must not be behind: the far one is behind where all others are ahead.
        for who in draw.choice([[trace.FAR], [trace.NEAR, "controller"]]):
            deployment.wrapped[who] = ["env", "FAKETIME_DONT_FAKE_MONOTONIC=1", "faketime", "-f", "+5s"]
            shifts[who] = 5
    return shifts


FAULTS = {
    "broker-kill": (broker_kill, "the broker is killed (SIGKILL), and started 1 s later"),
    "broker-restart": (broker_restart, "the broker is stopped and started"),
    "broker-disk-full": (broker_disk_full, "the broker finds its disk full for 3 to 10 s"),
    "controller-kill": (controller_kill, "the controller is killed, and started 1 s later"),
    "probe-kill": (probe_kill, "a probe is killed, and started 1 s later"),
    "link-cut": (link_cut, "a probe's way to the broker takes nothing for 15 s"),
    "clocks": (clocks, "a probe's clock is 5 s ahead or behind"),
    "deliveries": (deliveries, "all connections are closed four times: deliveries are repeated and reordered"),
    "store-full": (store_full, "the controller's disk is full for 3 to 10 s"),
}
