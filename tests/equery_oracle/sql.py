"""Queries as SQL over the table of window rows.

The result has the columns `w` (number of the window), one for each item of the query, and one for each item of `order by`. It has no
limit: the groups that a limit leaves out are needed for `rest`.
"""

from .language import Aggregate, Arithmetic, Condition, Literal, Name

ROWS = "rows"


def masked(name, column):
    """SQL of the value of a field, cut to its prefix: the beginning of an address's bits."""
    if not name.prefix:
        return column
    v4, v6 = name.lengths()
    return f"left({column}, if({column}[1] = '4', {v4}, {v6}) + 1)"


def of_row(value):
    """SQL of a value of a row."""
    if isinstance(value, Name):
        return masked(value, value.name)
    if isinstance(value, Literal):
        return value.sql
    return arithmetic(value, of_row)


def arithmetic(value, of):
    """SQL of arithmetic, whose operands `of` writes."""
    left, right = of(value.left), of(value.right)
    if value.operator == "/":
        return f"(({left})::double / nullif(({right})::double, 0))"
    return f"(({left}) {value.operator} ({right}))"


def condition(of_what, of):
    """SQL of a condition, whose values `of` writes."""
    kind, parts = of_what.kind, of_what.parts
    if kind in ("and", "or"):
        return "(" + f" {kind} ".join(condition(part, of) for part in parts) + ")"
    if kind == "not":
        return f"(not {condition(parts[0], of)})"
    if isinstance(parts[0], Name) and parts[0].name in ("addr", "port"):
        return either_end(kind, parts, of)
    if kind == "compare":
        return f"(({of(parts[0])}) {parts[1]} ({of(parts[2])}))"
    word = "not " if parts[1] else ""
    value = of(parts[0])
    if kind == "between":
        return f"(({value}) {word}between ({of(parts[2])}) and ({of(parts[3])}))"
    if kind == "like":
        return f"(({value}) {word}ilike '{parts[2]}')"
    if kind == "null":
        return f"(({value}) is {word}null)"
    if parts[0].kind == "address":
        # A prefix is the beginning of an address's bits, a whole address all of them.
        tests = " or ".join(f"starts_with({value}, {of(each)})" for each in parts[2])
    else:
        tests = " or ".join(f"({value}) = ({of(each)})" for each in parts[2])
    return f"({word}({tests}))"


def either_end(kind, parts, of):
    """A condition on `addr` or `port` is true if it is for either end; `not in` is its opposite."""
    negated = kind == "in" and parts[1]
    plain = (False, *parts[2:]) if negated else parts[1:]
    ends = [Name(f"{end}_{parts[0].name}") for end in ("src", "dst")]
    either = " or ".join(condition(Condition(kind, (end, *plain)), of) for end in ends)
    return f"({'not ' if negated else ''}({either}))"


def aggregates(query):
    """All aggregates of a query, each once."""
    found = []

    def visit(value):
        if isinstance(value, Aggregate):
            if value not in found:
                found.append(value)
        elif isinstance(value, Arithmetic):
            visit(value.left)
            visit(value.right)
        elif isinstance(value, Condition):
            for part in value.parts:
                visit(part)
        elif isinstance(value, tuple):
            for part in value:
                visit(part)

    for item in query.items:
        visit(item.value)
    visit(query.having)
    for value, _ in query.order:
        visit(value)
    return found


def simple(aggregate):
    """SQL of an aggregate over the rows of a group; none for those that need a table of their own."""
    function, argument = aggregate.function, aggregate.argument
    if argument is None:
        return "count(*)"
    if function in ("entropy", "top", "rate"):
        return None if function != "rate" else f"coalesce(sum({of_row(argument)}), 0)::double"
    if function == "count_if":
        # What is unknown is null, which a sum leaves out.
        return f"coalesce(sum(({condition(argument, of_row)})::integer), 0)"
    if isinstance(argument, Name) and argument.name in ("addr", "port"):
        ends = ", ".join(masked(argument, f"{end}_{argument.name}") for end in ("src", "dst"))
        return f"len(list_distinct(flatten(list([{ends}]))))"
    value = of_row(argument)
    if function == "count":
        return f"count(distinct {value})"
    if function == "sum":
        return f"coalesce(sum({value}), 0)"
    if function == "quantile":
        # The least value that at least ceil(p * n) values do not exceed, by exact arithmetic.
        rank = f"greatest(1, (count({value}) * {aggregate.share} + 999) // 1000)"
        return f"list_sort(list({value}) filter (({value}) is not null))[{rank}]"
    if function == "geomean":
        # By logarithms of base 2, and without those of zeros: with one, the mean is 0.
        value = f"({value})::double"
        mean = f"pow(2, sum(log2(nullif({value}, 0))) / count({value}))"
        return f"if(count({value}) = 0, null, if(min({value}) = 0, 0::double, {mean}))"
    if function == "stddev":
        if argument.kind == "integer":
            n, total, squares = f"count({value})", f"sum(({value})::hugeint)", f"sum(({value})::hugeint * ({value}))"
            return f"(sqrt(({n} * {squares} - {total} * {total})::double) / {n})"
        return f"stddev_pop(({value})::double)"
    return f"{function}({value})"


def weighted(aggregate, keys):
    """SQL of entropy or of the heaviest values, by window and group: they need the weight of each value first."""
    value = of_row(aggregate.argument)
    weight = aggregate.weight
    if weight is None:
        weight = "sum(total_count)" if aggregate.function == "entropy" else "sum(total_byte)"
    elif isinstance(weight, Name):
        weight = f"sum({weight.name})"
    else:
        weight = simple(weight)
    by = "".join(f", {key}" for key in keys)
    inner = f"select w{by}, {value} as v, ({weight})::bigint as x from r where ({value}) is not null group by w{by}, {value}"
    if aggregate.function == "entropy":
        result = "greatest(0, log2(sum(x)::double) - sum(if(x > 0, x * log2(x), 0)) / sum(x))"
    else:
        result = "list({'v': v, 'x': x} order by x desc)"
    return f"select w{by}, {result} as a from ({inner}) group by w{by}"


def write(query):
    """SQL that answers the query for all windows."""
    source, keys, columns = ROWS, [], {}
    for at, name in enumerate(query.group or []):
        key = f"k{at}"
        keys.append(key)
        columns[name] = key
        if name.name in ("addr", "port"):
            ends = ", ".join(masked(name, f"{end}_{name.name}") for end in ("src", "dst"))
            source = f"(select *, unnest(list_distinct([{ends}])) as {key} from {source})"
        else:
            source = f"(select *, {masked(name, name.name)} as {key} from {source})"
    where = f" where {condition(query.filter, of_row)}" if query.filter else ""
    rows = f"r as (select * from {source}{where})"
    if query.is_flows:
        return finish(query, [rows], "r", of_row)

    slots = aggregates(query)
    parts = [rows]
    by = "".join(f", {key}" for key in keys)
    plain = [(at, simple(slot)) for at, slot in enumerate(slots) if simple(slot)]
    values = "".join(f", {value} as a{at}" for at, value in plain)
    # count(*) keeps a group without plain aggregates.
    parts.append(f"g as (select w{by}{values}, count(*) as n from r group by w{by})")
    # Without groups there is one row for each window, without traffic too.
    table = "g" if query.group else "windows left join g using (w)"
    for at, slot in enumerate(slots):
        if not simple(slot):
            parts.append(f"e{at} as ({weighted(slot, keys)})")
            same = " and ".join(f"g.{key} is not distinct from e{at}.{key}" for key in ["w", *keys])
            table = f"{table} left join e{at} on {same}"

    def of_group(value):
        if isinstance(value, Aggregate):
            at = slots.index(value)
            column = f"a{at}" if simple(value) else f"e{at}.a"
            is_total = value.function in ("count", "count_if", "sum", "rate")
            return f"coalesce({column}, 0)" if is_total else column
        if isinstance(value, Name):
            return f"g.{columns[value]}"
        return value.sql if isinstance(value, Literal) else arithmetic(value, of_group)

    return finish(query, parts, table, of_group, "g.w" if query.group else "windows.w")


def finish(query, parts, table, of, window="w"):
    """The last step of a query: columns, `having`, and what groups are ordered by."""
    values = [of(item.value) for item in query.items] + [of(value) for value, _ in query.order]
    having = f" where {condition(query.having, of)}" if query.having else ""
    selected = ", ".join(f"{value} as c{at}" for at, value in enumerate(values))
    return f"with {', '.join(parts)} select {window} as w, {selected} from {table}{having}"
