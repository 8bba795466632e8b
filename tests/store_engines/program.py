"""The program: measures into a store, and answers."""

import json
import subprocess

from equery_oracle.answers import nanoseconds


class Program:
    """The program, and a folder for what it writes."""

    def __init__(self, path, folder):
        self.path = path
        self.folder = folder

    def call(self, *arguments, environment=None):
        """Its output."""
        command = [self.path, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=7200, env=environment)
        if done.returncode != 0:
            raise RuntimeError(f"edison {arguments[0]} ended with {done.returncode}: {done.stderr.strip()[-2000:]}")
        return done.stdout

    def queries(self, texts):
        """A file of queries; `q0` is the first."""
        file = self.folder / "queries.eq"
        file.write_text("".join(f"q{number}: {text};\n" for number, text in enumerate(texts)))
        return file

    def answers(self, *arguments, environment=None):
        """Answers by query and window, as far as they have rows of their own."""
        found = {}
        for line in self.call(*arguments, "--json", environment=environment).splitlines():
            answer = json.loads(line)
            if "query" not in answer or "rows" not in answer or not answer["query"].startswith("q"):
                continue
            if answer["window"] and not answer.get("empty"):
                found.setdefault(answer["query"], {})[nanoseconds(answer["window"]["start"])] = answer
        return found
