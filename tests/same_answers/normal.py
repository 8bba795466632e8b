"""What varies between two runs of the same program, each with its reason. All other bytes are compared."""

import re

TIME = r"<?\d[\d,.]* ?(?:ns|µs|ms|s|min|h)(?: \d+ (?:ms|s|min))?"

VARIES = [
    # How long a run took, and how fast it was, are of the clock.
    (re.compile(r'("elapsed_seconds": ?)[-+.\de]+'), r"\1TIME"),
    (re.compile(r'("processed_per_second": ?)(?:[-+.\de]+|null)'), r"\1RATE"),
    (re.compile(rf"^(took +){TIME}(?:, [\d.,]+ [kMG]?pps)?", re.M), r"\1TIME"),
    # The threads that count lend blocks to the thread that writes; how many there are at most depends on how far that one is behind.
    (re.compile(r'("memory_bytes": ?)\d+'), r"\1BYTES"),
    (re.compile(r"\d+ MiB( of tables and queues)$", re.M), r"MEMORY\1"),
]
# A run that waits for datagrams or clients has windows of the clock.
OF_THE_CLOCK = [
    # Each response with the page has a number of its own, which its styles must name.
    (re.compile(r'(name="style-nonce" nonce=")[0-9a-f]+'), r"\1NONCE"),
    (re.compile(r"20(?:2[6-9]|[3-9]\d)-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?"), "MOMENT"),
    (re.compile(r"\b1(?:7[7-9]|[89]\d)\d{16}\b"), "NANOSECONDS"),
    (re.compile(r'("(?:packets_per_second|bits_per_second|coverage|least_coverage)": ?)(?:[-+.\de]+|null)'), r"\1RATE"),
]


# Several threads add floating point numbers up in an order that is theirs: the last digits of sums depend on it.
FLOAT = re.compile(r"-?\d+\.\d{6,}(?:e[-+]?\d+)?")


def text(content, line, ports):
    """A text without what varies. The ports of a run that listens, and of who sends to it, are those that were free."""
    for pattern, replacement in VARIES + (OF_THE_CLOCK if line.is_live else []):
        content = pattern.sub(replacement, content)
    if line.is_in_any_order:
        content = FLOAT.sub(lambda found: f"{float(found[0]):.10g}", content)
    for at, port in enumerate(ports):
        content = re.sub(rf'(\b127\.0\.0\.1:|"port": ?){port}\b', rf"\1PORT{at}", content)
    return content
