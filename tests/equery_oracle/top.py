"""Compares the values of `top(k, f)`: `{"top": [{"value", "weight"}, …], "rest": {"values", "weight"}}`."""

import ipaddress

from .packets import address_text


def value_text(value, kind):
    """A value of the oracle's as text."""
    return str(ipaddress.ip_network(address_text(value))) if kind == "address" else str(value)


def right_top(aggregate, expected):
    """The right value: the heaviest in order, and what all others weigh."""
    kind = aggregate.argument.kind
    entries = sorted(expected or [], key=lambda entry: -entry["x"])
    shown = [{"value": value_text(entry["v"], kind), "weight": int(entry["x"])} for entry in entries[: aggregate.count]]
    others = [int(entry["x"]) for entry in entries[aggregate.count :]]
    return {"top": shown, "rest": {"values": len(others), "weight": sum(others)}}


def is_right_top(aggregate, expected, got):
    """Whether the heaviest values are there with their weights, and the rest is theirs; among equal weights any may be."""
    right = right_top(aggregate, expected)
    if not isinstance(got, dict) or got.get("rest") != right["rest"] or not isinstance(got.get("top"), list):
        return False
    kind = aggregate.argument.kind
    weights = {value_text(entry["v"], kind): int(entry["x"]) for entry in expected or []}
    found = []
    for entry in got["top"]:
        value = str(ipaddress.ip_network(entry["value"])) if kind == "address" else str(entry["value"])
        if weights.pop(value, None) != entry["weight"]:
            return False
        found.append(entry["weight"])
    return found == [entry["weight"] for entry in right["top"]]
