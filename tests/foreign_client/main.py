"""The command line."""

import argparse
import json

from .attacks import STEPS
from .client import Allowed, Rogue


def main():
    """Runs a step."""
    parser = argparse.ArgumentParser(prog="tests/foreign_client", description="The password is in FOREIGN_PASSWORD.")
    parser.add_argument("step", choices=["prepare", *STEPS])
    parser.add_argument("--port", type=int, help="the broker's")
    parser.add_argument("--user", help="the user, whose name is that of a node")
    parser.add_argument("--victim", help="another node")
    parser.add_argument("--recorded", help="a file of messages that were on the wire")
    parser.add_argument("--count", type=int, default=1, help="messages")
    options = parser.parse_args()
    if options.step == "prepare":
        return None
    rogue = Rogue(options.port, options.user)
    try:
        expected = STEPS[options.step](rogue, options)
    except Allowed as error:
        return f"foreign_client {options.step}: {error}"
    rogue.connection.close()
    print(json.dumps({"refused": {name: count for name, count in expected.items() if count}, "broker": rogue.refused}))
    return None
