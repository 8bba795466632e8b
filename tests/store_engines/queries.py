"""The queries of the cookbook that rows answer."""

import re
import shlex

SUMS = {
    "flows": "count(*)",
    "total_count": "sum(total_count)",
    "total_byte": "sum(total_byte)",
    "wire_byte": "sum(wire_byte)",
}
USUAL = {"bytes": "total_byte", "packets": "total_count"}
# What window rows do not have: statistics of packets, places of addresses.
NOT_IN_ROWS = re.compile(r"\b(gap|iat|size)_|_asn|_country|\b(using|error|across|when|while|from|last|prev|offset|avg_over)\b")
# All groups are compared: which of equal ones are first is each engine's own choice.
LIMIT = 10_000


def ranking(fields, sort):
    """The text that `--by FIELDS --sort ITEM` is short for."""
    sort = USUAL.get(sort, sort)
    column = "" if sort in SUMS else f"{sort}, "
    sums = ", ".join(f"{value} as {name}" for name, value in SUMS.items())
    return f"select {fields}, {column}{sums} groupby {fields} order by {sort} desc"


def of_line(line):
    """The query that a line of the program asks, if it is one."""
    words = shlex.split(line.split(" | ")[0])
    if words[:2] != ["edison", "query"] or "--diff" in words:
        return None
    option = {name: words[at + 1] for at, name in enumerate(words[:-1]) if name.startswith("-")}
    if "--by" in option:
        return ranking(option["--by"], option.get("--sort", "bytes"))
    return next((word for word in words if word.startswith("select ")), None)


def collect(root):
    """Each text once, in the order of the pages."""
    texts = []
    cookbook = (root / "docs" / "cookbook.md").read_text().splitlines()
    texts += [of_line(line) for line in cookbook if line.startswith("edison query")]
    # Whole queries in the examples of the language; those of a chain have names.
    equery = (root / "docs" / "equery.md").read_text().splitlines()
    texts += [line.split(" # ")[0].rstrip("; ") for line in equery if line.startswith("select ")]
    texts = [re.sub(r" limit \d+", "", text) for text in texts if text and not NOT_IN_ROWS.search(text)]
    texts = [re.sub(r" (every|over) \w+", "", text) for text in texts]
    return list(dict.fromkeys(text for text in texts if "Large" not in text and "node_id" not in text))


def whole(text, every):
    """A query over windows, with all groups."""
    return f"{text} limit {LIMIT} every {every}"


def part(text):
    """A query without what `whole` added."""
    return text.split(f" limit {LIMIT} every ")[0]
