"""Compares the values of `top(k, f)`."""

import ipaddress

from .packets import address_text


def value_text(value, kind):
    """A value of the oracle's as text."""
    return str(ipaddress.ip_network(address_text(value))) if kind == "address" else str(value)


def compare_top(aggregate, expected, got):
    """Whether the heaviest values are there with their weights; among equal weights any may be."""
    kind = aggregate.argument.kind
    weights = {value_text(entry["v"], kind): int(entry["x"]) for entry in expected or []}
    heaviest = sorted(weights.values(), reverse=True)[: aggregate.count]
    if got is None:
        return not weights
    if not isinstance(got, list):
        return False
    found = []
    for entry in got:
        value, weight = entry["value"], int(entry["weight"])
        value = str(ipaddress.ip_network(value)) if kind == "address" else str(value)
        if weights.get(value) != weight:
            return False
        found.append((value, weight))
    return len(set(found)) == len(found) and [weight for _, weight in found] == heaviest
