"""Queries as trees, and their text as Equery in varied style. `sql.py` writes the same trees as SQL."""

from dataclasses import dataclass, field
from typing import List, Optional, Tuple

from . import fields
from .packets import bits

SECOND = 1_000_000_000


class Style:
    """How a text is written: by chance, where the language leaves a choice."""

    def __init__(self, draw):
        self.draw = draw
        self.casing = draw.choice([str.lower, str.lower, str.upper, str.capitalize])
        self.field_casing = draw.choice([str, str, str, str.upper])
        self.uses_usual_names = draw.random() < 0.3

    def word(self, text):
        """A keyword."""
        return self.casing(text)

    def name(self, name):
        """A field's name, or a usual one of it."""
        usual = fields.NAMED[name].usual
        if usual and self.uses_usual_names and self.draw.random() < 0.6:
            name = self.draw.choice(usual)
        return self.field_casing(name)


@dataclass(frozen=True)
class Name:
    """A field of a row, or one that is grouped by."""

    name: str
    prefix: Tuple[int, ...] = ()

    @property
    def kind(self):
        return fields.NAMED[self.name].kind

    def text(self, style):
        return style.name(self.name) + "".join(f"/{length}" for length in self.prefix)

    def lengths(self):
        """Of a prefix: the lengths of IPv4 and IPv6; without the second it is four times the first."""
        return (self.prefix[0], self.prefix[1] if len(self.prefix) > 1 else min(128, self.prefix[0] * 4))


@dataclass(frozen=True)
class Literal:
    """A value: its SQL, and the ways to write it."""

    sql: str
    texts: Tuple[str, ...]
    kind: str

    def text(self, style):
        return style.draw.choice(self.texts)


@dataclass(frozen=True)
class Arithmetic:
    """`left operator right`, of rows or of groups."""

    left: object
    operator: str
    right: object

    @property
    def kind(self):
        return "float" if self.operator == "/" or "float" in (self.left.kind, self.right.kind) else "integer"

    def text(self, style):
        def operand(of):
            return f"({of.text(style)})" if isinstance(of, Arithmetic) else of.text(style)

        gap = style.draw.choice(["", " "])
        # Two `-` begin a comment.
        return f"{operand(self.left)}{gap}{self.operator}{gap}{operand(self.right)}"


@dataclass(frozen=True)
class Aggregate:
    """A function of the rows of a group; its value is a column of the table of groups, by `slot`."""

    function: str
    argument: object = None
    share: Optional[int] = None  # of quantile: thousandths
    weight: Optional[object] = None  # of entropy and top
    count: int = 0  # of top

    @property
    def kind(self):
        if self.function in ("min", "max", "quantile", "sum"):
            return self.argument.kind
        return {"count": "integer", "count_if": "integer", "top": "top"}.get(self.function, "float")

    @property
    def adds_up(self):
        """Whether the values of several groups are together that of all."""
        return self.function in ("sum", "count_if") or self.function == "count" and self.argument is None

    def text(self, style):
        function = style.word(self.function)
        if self.function == "count" and self.argument is None:
            return f"{function}(*)"
        argument = self.argument.text(style)
        if self.function == "count" and style.draw.random() < 0.3:
            return f"{function}({style.word('distinct')} {argument})"
        if self.function == "quantile":
            return f"{function}({argument}, {self.share / 1000:g})"
        if self.function == "entropy":
            weight = f", {self.weight.text(style)}" if self.weight else ""
            return f"{function}({argument}{weight})"
        if self.function == "top":
            weight = f", {self.weight.text(style)}" if self.weight else ""
            return f"{function}({self.count}, {argument}{weight})"
        return f"{function}({argument})"

    def canonical(self):
        """The column's name where it is beyond doubt."""
        if self.argument is None:
            return "count(*)"
        if self.function in ("sum", "min", "max", "avg", "geomean", "stddev") and isinstance(self.argument, Name):
            return f"{self.function}({self.argument.name})"
        return None


@dataclass(frozen=True)
class Condition:
    """A condition: `kind` names it, and `parts` are what it is made of."""

    kind: str
    parts: tuple

    def text(self, style, inside=None):
        shown = getattr(self, f"text_{self.kind}")(style)
        if self.kind in ("and", "or") and inside is not None:
            return f"({shown})"
        return shown

    def text_and(self, style):
        joined = f" {style.word('and')} "
        return joined.join(part.text(style, self) for part in self.parts)

    def text_or(self, style):
        return f" {style.word('or')} ".join(part.text(style, self) for part in self.parts)

    def text_not(self, style):
        return f"{style.word('not')} ({self.parts[0].text(style)})"

    def text_compare(self, style):
        left, operator, right = self.parts
        gap = style.draw.choice(["", " ", " "])
        return f"{left.text(style)}{gap}{operator}{gap}{right.text(style)}"

    def text_in(self, style):
        value, negated, values = self.parts
        word = f"{style.word('not')} " if negated else ""
        shown = ", ".join(each.text(style) for each in values)
        is_bare = len(values) == 1 and values[0].kind == "prefix"
        shown = shown if is_bare else f"({shown})"
        return f"{value.text(style)} {word}{style.word('in')} {shown}"

    def text_between(self, style):
        value, negated, low, high = self.parts
        word = f"{style.word('not')} " if negated else ""
        bounds = f"{low.text(style)} {style.word('and')} {high.text(style)}"
        return f"{value.text(style)} {word}{style.word('between')} {bounds}"

    def text_like(self, style):
        value, negated, pattern = self.parts
        word = f"{style.word('not')} " if negated else ""
        return f"{value.text(style)} {word}{style.word('like')} '{pattern}'"

    def text_null(self, style):
        value, negated = self.parts
        word = f"{style.word('not')} " if negated else ""
        return f"{value.text(style)} {style.word('is')} {word}{style.word('null')}"


@dataclass
class Item:
    """A column of the answer."""

    value: object
    alias: Optional[str] = None

    def text(self, style):
        shown = self.value.text(style)
        return f"{shown} {style.word('as')} {self.alias}" if self.alias else shown

    def expected_name(self, is_flows):
        """The column's name where it is beyond doubt. `is_flows`: the query has a row for each flow."""
        if self.alias or isinstance(self.value, Aggregate):
            return self.alias or self.value.canonical()
        if not isinstance(self.value, Name) or self.value.prefix:
            return None
        return fields.OF_FLOW.get(self.value.name, self.value.name) if is_flows else self.value.name


@dataclass
class Query:
    """A query; times are in seconds, `every` is none for the run's own window."""

    label: str
    items: List[Item]
    filter: Optional[Condition] = None
    group: Optional[List[Name]] = None
    having: Optional[Condition] = None
    order: List[Tuple[object, bool]] = field(default_factory=list)
    limit: Optional[int] = None
    every: Optional[int] = None
    over: Optional[int] = None
    is_flows: bool = False
    text: str = ""

    def write(self, draw):
        """Writes the query as Equery."""
        style = Style(draw)
        clauses = []
        if self.filter:
            clauses.append(f"{style.word('where')} {self.where_text(style)}")
        if self.group:
            word = draw.choice(["groupby", "group by"])
            clauses.append(f"{style.word(word)} " + ", ".join(name.text(style) for name in self.group))
        if self.having:
            clauses.append(f"{style.word('having')} {self.having.text(style)}")
        if self.order:
            items = [self.order_text(style, *item) for item in self.order]
            clauses.append(f"{style.word('order by')} " + ", ".join(items))
        if self.limit is not None:
            clauses.append(f"{style.word('limit')} {self.limit}")
        if self.every:
            clauses.append(f"{style.word('every')} {duration(draw, self.every)}")
        if self.over:
            clauses.append(f"{style.word('over')} {duration(draw, self.over)}")
        if draw.random() < 0.6:
            draw.shuffle(clauses)
        select = f"{style.word('select')} " + ", ".join(item.text(style) for item in self.items)
        joint = draw.choice([" ", " ", "\n    ", " -- a remark; of no meaning\n  ", "  "])
        self.text = joint.join([select, *clauses])
        return self

    def where_text(self, style):
        """The condition; a comma stands for `and` where that is beyond doubt."""
        if self.filter.kind == "and" and style.draw.random() < 0.4:
            return ", ".join(part.text(style, self) for part in self.filter.parts)
        return self.filter.text(style)

    def order_text(self, style, value, descending):
        """An item of `order by`: the column's alias, or its value again."""
        aliases = [item.alias for item in self.items if item.alias and item.value == value]
        shown = aliases[0] if aliases and style.draw.random() < 0.6 else value.text(style)
        word = "desc" if descending else style.draw.choice(["", "", "asc"])
        return f"{shown} {style.word(word)}".strip()


def duration(draw, seconds):
    """Seconds in one of their units."""
    texts = [f"{seconds}s", f"{seconds}s", f"{seconds * 1000}ms"]
    if seconds % 60 == 0:
        texts += [f"{seconds // 60}min", f"{seconds // 60}m"]
    return draw.choice(texts)


def integer(number):
    """An integer, also with a multiplier where it has one."""
    texts = [str(number)]
    if number and number % 1000 == 0:
        texts += [f"{number // 1000}K", f"{number // 1000}k"]
    elif number > 1000 and number % 100 == 0:
        texts.append(f"{number / 1000:g}K")
    return Literal(str(number), tuple(texts), "integer")


def address(text):
    """An address or a prefix."""
    base, _, length = text.partition("/")
    shown = bits(base)
    shown = shown[: int(length) + 1] if length else shown
    return Literal(f"'{shown}'", (text,), "prefix" if length else "address")
