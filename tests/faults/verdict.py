"""What a run lost, doubled or told otherwise than the trace says."""

from . import trace
from .deployment import seconds_of


def second_of(window, start, ahead):
    """The second of the trace that a window is of."""
    return round(seconds_of(window["start"]) - start - ahead)


def counted(answers, start, ahead):
    """Of each second of the trace, the answers of its window."""
    found = {}
    for answer in answers:
        # Windows without packets in a row are one answer: none of them is of the trace, which has packets in each second.
        if answer.get("empty"):
            continue
        found.setdefault(second_of(answer["window"], start, ahead), []).append(answer)
    return found


def rows_of(answer):
    return {int(row["src_port"]): int(row["n"]) for row in answer["rows"]}


def total(answers):
    """What several results of one window add up to: those of a probe that was started again within it."""
    rows = {}
    for answer in answers:
        for port, number in rows_of(answer).items():
            rows[port] = rows.get(port, 0) + number
    return rows


def in_gap(node, second, start, ahead):
    """Whether the node's own gaps name this second, whole or in part."""
    begin = start + second + ahead
    return any(seconds_of(gap["start"]) < begin + 1 and seconds_of(gap["end"]) > begin for gap in node["gaps"])


def windows(deployment, start, shifts, missed):
    """Windows that are right, lost, doubled, late, and named as gaps, of both nodes; and what was wrong in words. `missed`: the seconds in which
    the far probe may have been down, whose windows alone may be gaps."""
    result = {"windows": 0, "lost": 0, "doubled": 0, "late": 0, "gaps": 0, "wrong": []}
    nodes = deployment.nodes()
    for name in (trace.NEAR, trace.FAR):
        shift = shifts[name]
        found = counted(deployment.answers("each", name), start, shift)
        # A probe that has just begun says of its first window that it is cut, and has no tasks yet.
        accounts = counted(deployment.answers("totals", name), start, shift)
        for second, expected in enumerate(trace.counts()):
            result["windows"] += 1
            answers = found.get(second, [])
            rows = total(answers)
            result["late"] += any(answer.get("late") for answer in answers)
            if rows == expected:
                continue
            more = any(number > expected.get(port, 0) for port, number in rows.items())
            parts = answers + accounts.get(second, [])
            named = in_gap(nodes[name], second, start, shift) or any(answer["status"] != "complete" for answer in parts)
            if more:
                result["doubled"] += 1
            elif named and name == trace.FAR and second in missed:
                result["gaps"] += 1
                continue
            else:
                result["lost"] += 1
            result["wrong"].append(f"{name}, second {second}: {rows} instead of {expected}")
    return result


def firings(deployment, start, shifts):
    """What fired, on which node and in which second of the trace."""
    fired = set()
    for event in deployment.events():
        if event["kind"] == "fired":
            fired.add((event["query"], event["node"], second_of(event["window"], start, shifts[event["node"]])))
    return fired


def expected_firings():
    """A flood fires once on each node: the windows beside it have none."""
    return {("who", node, second) for node in (trace.NEAR, trace.FAR) for second in trace.FLOODS}


def is_whole(deployment, start, shifts):
    """The last second of the trace is answered by both nodes."""
    def last(node):
        return trace.SECONDS - 1 in counted(deployment.answers("each", node), start, shifts[node])
    return all(map(last, (trace.NEAR, trace.FAR)))
