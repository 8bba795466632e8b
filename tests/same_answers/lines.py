"""Random command lines of every command of the program."""

import random
import re
import shlex
from typing import NamedTuple

from . import values

# How often each command comes. What the helps list and is not here is asked for its help and with wrong words alone.
WEIGHTS = {"run": 46, "query": 15, "dry-run": 6, "import": 5, "check": 5, "explain": 7, "generate": 5, "collect": 3, "served": 2, "told": 6}
WRONG = 0.14
HANGING = {"--web"}
OFF = [("--idle-timeout", "off"), ("--active-timeout", "off")]


class Line(NamedTuple):
    """A command line, and what it finds: variables, files, standard input, stores that it gets copies of."""

    kind: str
    command: str
    words: list
    variables: dict
    files: dict
    standard_input: str
    stores: list
    is_wrong: bool

    def __str__(self):
        """As a shell takes it."""
        before = [f"{name}={shell_quoted(value)}" for name, value in self.variables.items()]
        behind = [f"< {shell_quoted(self.standard_input)}"] if self.standard_input else []
        return " ".join([*before, "edison", *map(shell_quoted, self.words), *behind])

    @property
    def is_live(self):
        """Whether it waits for datagrams or clients, so that it sees the clock."""
        return self.kind != "plain"

    @property
    def prints_records(self):
        """Whether records go to standard output."""
        text = str(self) + "".join(self.files.values())
        return bool(re.search(r"""(?:-w|--flows|EDISON_FLOWS|^flows)(?:=| = "| )-(?:"|\s|$)""", text, re.M))

    @property
    def is_in_any_order(self):
        """Whether several threads write records, in an order that is theirs."""
        text = str(self) + "".join(self.files.values())
        several = r"design\W+(?!rss)\w|cores\W+[^1\s]|queues=2|preset|tee|state\W+shared|EDISON_(CORES|DESIGN|TEE|STATE|PRESET)"
        return len(re.findall(r"\bNode\d=", text)) > 1 or bool(re.search(several, text))


class Lines:
    """Draws lines for a program whose helps are known."""

    def __init__(self, seed, helps, inputs):
        self.seed = seed
        self.helps = helps
        self.inputs = inputs

    def line(self, number):
        """The line of this number: the same for the same seed, whatever else is drawn."""
        self.draw = draw = random.Random(f"{self.seed} {number}")
        self.variables, self.files, self.stores, self.standard_input = {}, {}, [], ""
        kind = draw.choices(list(WEIGHTS), WEIGHTS.values())[0]
        options, places = getattr(self, kind.replace("-", "_"))()
        command = {"served": "run", "told": None}.get(kind, kind)
        is_wrong = kind not in ("served", "collect") and draw.random() < WRONG
        if is_wrong and command:
            options = self.more_options(command, options)
            # Nothing to work on.
            places = [] if draw.random() < 0.12 else places
        words = self.written(command, options, places) if command else places
        if is_wrong:
            words = self.damaged(command, words)
        named = kind if command else words[0] if words and words[0] in self.helps else "help"
        kind = kind if kind in ("served", "collect") else "plain"
        return Line(kind, named, words, self.variables, self.files, self.standard_input, self.stores, is_wrong)

    # Commands: each returns pairs of an option and its value, and the words that are no options.

    def run(self):
        draw = self.draw
        options = []
        places = self.sources(options)
        if draw.random() < 0.1:
            # Words of a filter, as tcpdump takes them: one word or several.
            text = draw.choice(values.FILTERS)
            places += [text] if draw.random() < 0.5 else text.split()
        self.some(options, "run", {"--top": 0.35, "--json": 0.5, "--loss": 0.2, "--tunnel": 0.08})
        self.question(options, "run")
        is_asked = has(options, "--query", "--file")
        if any(option == "--file" and "Node1" in self.inputs.text(value) for option, value in options):
            # The queries name nodes.
            places = [f"Node{at}=in/path.tap{at}.pcap" for at in (1, 2)]
        # Queries have windows of their own, which are multiples of the run's, and fields that a key may lack.
        if is_asked and draw.random() < 0.75:
            options.append(("--every", "1s"))
        else:
            self.some(options, "run", {"--every": 0.5})
        self.some(options, "run", {"--key": 0.03 if is_asked else 0.2, "--set": 0.04})
        self.some(options, "run", {"--flows": 0.35, "--report": 0.35, "--rows": 0.12, "--store": 0.1})
        if not (places and places[0].startswith("Node")):
            self.some(options, "run", {"--node": 0.15, "--task": 0.15, "--per": 0.08, "--anonymize": 0.08, "--tee": 0.03})
        self.some(options, "run", {"--packets": 0.08, "--duration": 0.08, "--memory": 0.05, "--idle-exit": 0.02})
        self.some(options, "run", {"--idle-timeout": 0.2, "--active-timeout": 0.2, "--biflow": 0.1, "--burst": 0.1, "--seed": 0.1})
        self.some(options, "run", {"--preset": 0.02})
        if has(options, "--flows"):
            self.some(options, "run", {"--fields": 0.2, "--rotate": 0.1, "--gap": 0.15, "--packet-size": 0.15, "--inter-arrival": 0.15})
        if has(options, "--store"):
            self.some(options, "run", {"--store-keep": 0.3})
        if is_asked:
            self.some(options, "run", {"--captures": 0.1, "--capture-bytes": 0.03, "--capture-snap": 0.05, "--capture-rate": 0.03})
        if draw.random() < 0.35:
            self.design(options)
        else:
            # Of several workers the one that comes first takes the last place of a full table.
            self.some(options, "run", {"--max-flows": 0.15})
        if ("--design", "2x1") in options and not has(options, "--wire"):
            options.append(("--wire", "queues=2"))
        if has(options, "--design", "--cores", "--preset", "--tee", "--wire"):
            # Several workers decide by their order which file a record goes to.
            options = [pair for pair in options if pair[0] != "--rotate"]
        if has(options, "--json"):
            # Both would be on standard output.
            options = [pair for pair in options if pair != ("--flows", "-")]
        return options, places

    def design(self, options):
        """How cores share the work. What timeouts rule out gets them off."""
        form = self.draw.random()
        if form < 0.6:
            self.some(options, "run", {"--design": 1, "--cores": 0.3, "--ring": 0.1})
        elif form < 0.7:
            self.some(options, "run", {"--cores": 1})
        else:
            options[:] = [pair for pair in options if pair[0] not in ("--idle-timeout", "--active-timeout")]
            options += OFF
            self.some(options, "run", {"--design": 1})
            self.some(options, "run", {"--split": 1} if form < 0.85 else {"--state": 1})

    def sources(self, options):
        """What is measured. Options that name a source go to `options`."""
        draw, inputs = self.draw, self.inputs
        form = draw.random()
        if form < 0.4:
            return [draw.choice(inputs.captures)]
        if form < 0.55 and inputs.real:
            return [draw.choice(inputs.real)]
        if form < 0.62:
            return [draw.choice(inputs.damaged)]
        if form < 0.7:
            return draw.sample(inputs.captures, 2)
        if form < 0.85:
            taps = draw.sample(inputs.path_taps, 2) if draw.random() < 0.7 else draw.sample(inputs.captures, 2)
            return [f"Node{at + 1}={path}" for at, path in enumerate(taps)]
        if form < 0.9:
            self.standard_input = draw.choice(inputs.captures)
            return ["-"]
        if form < 0.93:
            self.add(options, "run", "--read")
            return []
        if form < 0.97:
            self.add(options, "run", "--synthetic")
        if form > 0.95:
            self.add(options, "run", "--wire")
        return [] if has(options, "--synthetic") else [draw.choice(inputs.captures)]

    def query(self):
        draw, inputs = self.draw, self.inputs
        options = []
        form = draw.random()
        if form < 0.3:
            options.append(("--store", self.store()))
            places = []
        else:
            files = inputs.flow_files + inputs.row_files
            pool = files if form < 0.9 else inputs.damaged_flows + ["in/nfdump.csv", *inputs.captures[:2]]
            places = draw.sample(pool, 1 if draw.random() < 0.75 else 2)
            if draw.random() < 0.05:
                places = ["in/*.flows.csv"]
            if draw.random() < 0.06:
                options.append(("--diff", tuple(draw.sample(files, 2))))
                places = []
        if draw.random() < 0.3:
            places.append(draw.choice(inputs.questions))
        else:
            self.question(options, "query")
        self.some(options, "query", {"--per": 0.1, "--from": 0.15, "--to": 0.15, "--top": 0.3, "--json": 0.5, "--set": 0.05, "--memory": 0.05})
        return options, places

    def dry_run(self):
        draw, inputs = self.draw, self.inputs
        options, places = [], []
        if draw.random() < 0.7:
            places.append(draw.choice(inputs.question_files))
        else:
            options.append(("--query", ";\n".join(draw.sample(inputs.questions, 2))))
        if draw.random() < 0.3:
            options.append(("--store", self.store()))
        else:
            places += draw.sample(inputs.row_files + inputs.flow_files, draw.choice([1, 1, 2]))
        self.some(options, "dry-run", {"--json": 0.5, "--answers": 0.4, "--every": 0.2, "--from": 0.1, "--to": 0.1, "--set": 0.2, "--memory": 0.05})
        return options, places

    def import_(self):
        draw, inputs = self.draw, self.inputs
        options = [("--store", self.store() if draw.random() < 0.2 else "kept")]
        pool = inputs.flow_files + inputs.row_files + ["in/nfdump.csv"]
        pool = pool if draw.random() < 0.85 else inputs.damaged_flows
        places = draw.sample(pool, draw.choice([1, 1, 2]))
        if draw.random() < 0.3:
            places = [f"Node{at + 1}={path}" for at, path in enumerate(places)]
        options += [("--every", draw.choice(["1s", "10s", "1min"]))] if draw.random() < 0.4 else []
        self.some(options, "import", {"--node": 0.3, "--store-keep": 0.15, "--memory": 0.1})
        return options, places

    def check(self):
        return self.asked("check", {"--json": 0.4, "--set": 0.25, "--memory": 0.1, "--every": 0.15, "--key": 0.1})

    def explain(self):
        return self.asked("explain", {"--json": 0.4, "--set": 0.2, "--memory": 0.1, "--every": 0.15, "--key": 0.1, "--sql": 0.3})

    def asked(self, command, odds):
        """Queries without traffic."""
        draw, inputs = self.draw, self.inputs
        options, places = [], []
        if draw.random() < 0.5:
            places = draw.sample(inputs.question_files, draw.choice([1, 1, 2]))
        else:
            options += [("--query", text) for text in draw.sample(inputs.questions, draw.choice([1, 1, 2]))]
        self.some(options, command, odds)
        return options, places

    def generate(self):
        draw = self.draw
        options, places = [], ["g.pcap"]
        if draw.random() < 0.3:
            self.add(options, "generate", "--path")
        else:
            places.append(draw.choice(values.SPECS))
        self.some(options, "generate", {"--json": 0.5, "--truth": 0.3})
        return options, places

    def collect(self):
        """Records of routers. Windows are those of the clock: of an hour, so that a run has one."""
        options = [("--every", "1h"), ("--json", None), ("--idle-exit", "700ms"), ("--flows", self.draw.choice(["f.jsonl", "f.csv"])), ("--report", "r.json")]
        whole = [text for text in self.inputs.questions if "every" not in text.lower()]
        options += [("--query", text) for text in self.draw.sample(whole, self.draw.choice([0, 1, 2]))]
        self.some(options, "collect", {"--top": 0.3, "--key": 0.1, "--rows": 0.2, "--store": 0.2, "--sampling": 0.3, "--node": 0.3})
        if self.inputs.datagrams:
            self.files["datagrams"] = self.draw.choice(self.inputs.datagrams).read_text()
        return options, ["ipfix://127.0.0.1:{port}"]

    def served(self):
        """A run with the page and the API, which clients ask before it is interrupted."""
        options = [("--web", "127.0.0.1:{port}"), ("--every", "5s")]
        self.question(options, "run")
        self.some(options, "run", {"--json": 0.5, "--loss": 0.3, "--report": 0.5})
        return options, [self.draw.choice(self.inputs.captures)]

    def told(self):
        """What the program says of itself."""
        draw = self.draw
        command = draw.choice([*self.helps, "help"])
        texts = [[command, "--help"], [command, "-h"], ["help", command], ["--help"], ["-h"], ["--version"], []]
        texts += [["fields"], ["fields", "--json"], ["tasks"], ["ports"], ["man", "pages"]]
        texts += [["completions", draw.choice(["bash", "zsh", "fish", "elvish", "powershell"])]]
        texts += [["probe", "--config", "in/probe.toml"], ["controller", "--config", "in/controller.toml"], ["authority"], ["controller", "token", "--help"]]
        texts += [[command], [command, "in/missing"], [command, "--json"], [command, "--no-such-option"]]
        texts += [[draw.choice(["nodes", "queries", "events", "story", "watch", "cancel"]), "--controller", "http://127.0.0.1:9"]]
        return [], draw.choice(texts)

    # Parts of lines.

    def store(self):
        """A store of the oracle's, as a copy."""
        name = self.draw.choice(self.inputs.stores)
        self.stores.append(name)
        return name.removeprefix("in/")

    def question(self, options, command):
        """Equery as text or in files, a ranking, or nothing."""
        draw, inputs = self.draw, self.inputs
        form = draw.random()
        if form < 0.35:
            options += [("--query", text) for text in draw.sample(inputs.questions, draw.choice([1, 1, 2, 3]))]
        elif form < 0.55:
            options.append(("--file", draw.choice(inputs.question_files)))
        elif form < 0.7:
            options[:] = [pair for pair in options if pair != ("--top", "0")]
            self.some(options, command, {"--by": 1, "--sort": 0.6})

    def some(self, options, command, odds):
        """Each of these options with its probability."""
        for option, probability in odds.items():
            if self.draw.random() < probability:
                self.add(options, command, option)

    def add(self, options, command, option):
        """An option with a value that the program takes; nothing where the program has no such option."""
        if option in self.helps[command] and values.good(command, option):
            options.append((option, self.draw.choice(values.good(command, option))))

    def more_options(self, command, options):
        """Wrong input, first kind: options that may not go together, and values that are none."""
        draw = self.draw
        pool = list(self.helps[command].values())
        for _ in range(draw.choice([0, 1, 1, 2])):
            option = draw.choice(pool)
            bad = values.bad(option)
            good = [value for value in values.good(command, option.long)]
            chosen = draw.choice(bad) if bad and draw.random() < 0.6 else draw.choice(good) if good else None
            if chosen is not None or not option.takes_a_value and option.long not in HANGING:
                options = [*options, (option.long, chosen if option.values else None)]
        return options

    def damaged(self, command, words):
        """Wrong input, second kind: words that are mistyped, missing, there twice, or of no meaning."""
        draw = self.draw
        words = list(words)
        form = draw.random()
        at = draw.randrange(len(words)) if words else 0
        is_safe = words and not any(word.startswith(tuple(HANGING)) for word in words)
        if form < 0.2 and is_safe and len(words[at]) > 3:
            # Two letters change places.
            cut = draw.randrange(1, len(words[at]) - 1)
            word = words[at]
            words[at] = word[:cut] + word[cut + 1] + word[cut] + word[cut + 2 :]
        elif form < 0.35 and is_safe:
            del words[at]
        elif form < 0.45 and is_safe:
            words.insert(at, words[at])
        elif form < 0.6:
            words.insert(draw.randrange(len(words) + 1), draw.choice(["--no-such-option", "-Z", "--", "in/missing.pcap", "nonsense", "--jsn", "-", ""]))
        elif form < 0.7 and command == "run":
            name, value = draw.choice([("EDISON_EVERY", "soon"), ("EDISON_EVRY", "1s"), ("EDISON_TOP", "x"), ("EDISON_JSON", "maybe"), ("EDISON_DESIGN", "none")])
            self.variables[name] = value
        return words

    def written(self, command, options, places):
        """The words: options in any order and spelling, some of them as variables or in a file of settings."""
        draw = self.draw
        groups, settings = [], {}
        counts = {option: sum(other == option for other, _ in options) for option, _ in options}
        for option, value in options:
            place = draw.random() if command == "run" and counts[option] == 1 and isinstance(value, (str, type(None))) else 1
            named = option.removeprefix("--")
            if place < 0.06 and option not in ("--query", "--file", "--read", "--web", "--synthetic"):
                self.variables["EDISON_" + named.upper().replace("-", "_")] = "true" if value is None else value
            elif place < 0.14 and option not in ("--config", "--web", "--read", "--synthetic"):
                settings[named] = value
            else:
                groups.append(self.spelled(command, option, value))
        if settings:
            lines = (f"{name} = {'true' if value is None else quoted(value)}\n" for name, value in settings.items())
            self.files["settings.toml"] = "".join(lines)
            groups.append(["--config", "settings.toml"])
        draw.shuffle(groups)
        cut = draw.choice([0, len(groups), draw.randrange(len(groups) + 1)])
        before, behind = sum(groups[:cut], []), sum(groups[cut:], [])
        is_short = command == "run" and "settings.toml" not in self.files and draw.random() < 0.1
        return [*([] if is_short else [command]), *before, *places, *behind]

    def spelled(self, command, option, value):
        """An option in one of its spellings."""
        known = self.helps[command][option]
        if isinstance(value, tuple):
            return [option, *value]
        if value is None:
            return [option]
        if not known.takes_a_value:
            return [f"{option}={value}"]
        if known.short and self.draw.random() < 0.5:
            return [known.short, value]
        # What begins with a dash would be an option.
        return [f"{option}={value}"] if value.startswith("-") and value != "-" or self.draw.random() < 0.2 else [option, value]


# `import` is a word of Python.
setattr(Lines, "import", Lines.import_)


def shell_quoted(word):
    """A word in one line, as bash takes it."""
    if "\n" not in word:
        return shlex.quote(word)
    escaped = word.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"$'{escaped}'"


def has(options, *names):
    return any(option in names for option, _ in options)


def quoted(text):
    """A string of TOML."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
