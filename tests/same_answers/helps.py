"""The commands and options of a program, read from its own helps."""

import re
import subprocess
from typing import NamedTuple

COMMAND = re.compile(r"^  ([a-z][a-z0-9-]+)(?: {2,}|$)", re.M)
# `  -q, --query <TEXT>`, `      --web[=<HOST:PORT>]`, `      --diff <A> <B>`, `      --json`; an example is not indented by two or six.
OPTION = re.compile(r"^(?:  (-\w), |      )(--[a-z][a-z0-9-]*)((?:\[=<[^>]+>\])|(?: <[^>]+>)*)(?: {2,}\S.*)?$", re.M)


class Option(NamedTuple):
    """An option of a command: its names, and the names of its values."""

    short: str
    long: str
    values: str

    @property
    def takes_a_value(self):
        return self.values.startswith(" ")


def text_of(program, *words):
    """What the program prints for these words."""
    done = subprocess.run([program, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    if done.returncode != 0 or not done.stdout:
        raise SystemExit(f"same-answers: '{program} {' '.join(words)}' fails: {done.stderr.strip() or 'no output'}")
    return done.stdout


def of_program(program):
    """The options of each command, by the command's name."""
    commands = COMMAND.findall(text_of(program, "--help").split("\nOptions:\n")[0])
    return {command: options(text_of(program, command, "--help")) for command in commands if command != "help"}


def options(text):
    """The options that a help lists. The examples behind them have others."""
    text = text.split("\nExamples:\n")[0].split("\nExample of a file:\n")[0]
    found = [Option(short or "", long, values or "") for short, long, values in OPTION.findall(text)]
    return {option.long: option for option in found if option.long != "--help"}
