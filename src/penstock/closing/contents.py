"""What a relation holds at an instant: whether rows leave it, whether it changes at all, and how many rows it has.

A window bounds the rows by the stream's rate, a key that others refer to bounds a join, a group needs a row. What an
unbounded window holds is all rows so far, unless a key takes finitely many values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.algebra.copies import written
from penstock.algebra.expressions import Column, Expr, columns
from penstock.algebra.predicates import ColumnEquality, classify
from penstock.algebra.relations import (
    Aggregate,
    AntiJoin,
    Distinct,
    Join,
    Materialised,
    PartitionRows,
    Project,
    Range,
    Relation,
    Repeat,
    Rows,
    Select,
    SemiJoin,
    SetOp,
    SetOperator,
    Shared,
    Table,
    Unbounded,
    Window,
    walk_relations,
)
from penstock.catalog import Catalog, Rated, StreamDef, TableDef, Unique
from penstock.closing.bounds import (
    NONE,
    UNBOUNDED,
    Bound,
    BoundKind,
    badness,
    constant,
    counted,
    entries,
    least,
    plus,
    times,
)
from penstock.closing.declarations import constraint_text
from penstock.closing.finite import Finite, contradicts, count, finite, together, truths
from penstock.closing.kconstraints import Rate
from penstock.closing.kconstraints.rates import most_rows
from penstock.effort import once
from penstock.types import duration_text


@once
def is_static(relation: Relation) -> bool:
    """Whether it never changes: it reads tables only."""
    return not any(isinstance(node, Window) for node in walk_relations(relation))


@once
def appends_only(relation: Relation) -> bool:
    """Whether no row ever leaves it."""
    match relation:
        case Window(_, spec):
            return isinstance(spec, Unbounded)
        case AntiJoin(left, right) | SetOp(SetOperator.EXCEPT, _, left, right):
            return appends_only(left) and is_static(right)
        case Aggregate(below):
            return is_static(below)
    return all(appends_only(below) for below in relation.inputs)


@once
def content(relation: Relation, catalog: Catalog) -> Bound:
    """How many rows a relation may hold at an instant."""
    if contradicts(truths(relation)):
        return NONE
    match relation:
        case Table(name):
            return constant(None, f"the rows of {name}")
        case Window(_, PartitionRows()):
            return partitions(relation, finite(relation))
        case Window():
            return least((window_rows(relation, catalog), _keyed(relation, finite(relation), catalog)))
        case Select(Window(_, PartitionRows()) as window):
            return partitions(window, finite(relation))
        case Select(below):
            return least((content(below, catalog), _keyed(relation, finite(relation), catalog)))
        case Materialised(below):
            return content(below, catalog)
        case Shared(below):
            return _shared_content(below, catalog)
        case Project(below):
            return content(below, catalog)
        case Repeat():
            return UNBOUNDED  # of rows that are alike there may be any number
        case Join():
            return _join_content(relation, catalog)
        case SemiJoin(left=left) | AntiJoin(left=left):
            return least((content(left, catalog), _keyed(relation, finite(relation), catalog)))
        case Aggregate(below, keys):
            return groups(tuple(key.expr for key in keys), below, catalog)
        case Distinct(below):
            return groups(below.schema, below, catalog)
        case SetOp(op, _, left, right):
            sides = content(left, catalog), content(right, catalog)
            return {
                SetOperator.UNION: plus(sides),
                SetOperator.EXCEPT: sides[0],
                SetOperator.INTERSECT: least(sides),
            }[op]
    return UNBOUNDED


def _shared_content(below: Relation, catalog: Catalog) -> Bound:
    """Of rows that are not counted a name: a sum of products would double with each relation that shares another."""
    rows = content(below, catalog)
    if rows.size is not None or not rows.is_safe:
        return rows
    return Bound(rows.kind, f"the rows of the outer join of {', '.join(dict.fromkeys(_occurrences(below)))}")


def _occurrences(relation: Relation) -> Iterator[str]:
    """The occurrences that a relation reads, as the user named them, from left to right."""
    for node in walk_relations(relation):
        if isinstance(node, Window | Table):
            yield written(node.stream.occurrence if isinstance(node, Window) else node.occurrence)


def declared_rate(definition: StreamDef) -> Rate:
    """How fast a stream's rows arrive, as far as RATE says it."""
    rated = (Rate(c.most, c.least, c.per) for c in definition.constraints if isinstance(c, Rated))
    return next(rated, Rate())


def rates_of(window: Window, catalog: Catalog) -> tuple[str, ...]:
    """What a number of rows in a time leans on."""
    definition = catalog.get(window.stream.name)
    if not isinstance(definition, StreamDef) or isinstance(window.spec, Rows):
        return ()
    return rate_texts(definition)


def rate_texts(definition: StreamDef) -> tuple[str, ...]:
    """How a stream's rate was written."""
    rated = [c for c in definition.constraints if isinstance(c, Rated)]
    return tuple(f"{definition.name}: {constraint_text(c)}" for c in rated)


def rows_in(width: int, occurrence: str, definition: StreamDef) -> Bound:
    """What a stream has in a time. Rows whose timestamps are that close arrive within the delay of it."""
    words = f"{duration_text(width)} of {occurrence}" if width else f"one instant of {occurrence}"
    most = most_rows(declared_rate(definition), width + definition.delay)
    return Bound(BoundKind.WINDOW, words if most is None else f"{counted(most, 'row')} in {words}", most)


def window_rows(window: Window, catalog: Catalog) -> Bound:
    """The rows of a window that is not partitioned."""
    occurrence, definition = window.stream.occurrence, catalog.get(window.stream.name)
    match window.spec:
        case Range(width, slide) if isinstance(definition, StreamDef):
            return rows_in(width + (slide or 0), occurrence, definition)
        case Rows(number):
            return Bound(BoundKind.WINDOW, f"{counted(number, 'row')} of {occurrence}", number)
    return UNBOUNDED


def partitions(window: Window, known: Finite) -> Bound:
    """The rows of a partitioned window: so many for each of the values that reach what stands above it.

    A selection on the partition's columns passes the window: it takes all rows of a partition or none.
    """
    assert isinstance(window.spec, PartitionRows)
    numbers = values(window.spec.by, known)
    return UNBOUNDED if numbers is None else times((numbers, entries(window.spec.count, "row")))


def values(exprs: Iterable[Expr], known: Finite) -> Bound | None:
    """How many combinations of values expressions take, if they are finitely many."""
    counts = [count(expr, known) for expr in exprs]
    if None in counts:
        return None
    number = together(each for each in counts if each is not None).number
    return constant(None, "one entry per row of a table") if number is None else entries(number, "value")


def groups(keys: tuple[Expr, ...], below: Relation, catalog: Catalog) -> Bound:
    """How many groups the rows of a relation form: at most one per combination of values, and one per row."""
    if not keys:
        return entries(1, "row")
    known = finite(below)
    numbers = values(keys, known)
    rows = least((content(below, catalog), supplying(keys, below, catalog)))
    if numbers is not None:
        numbers = entries(numbers.size, "group") if numbers.size else numbers
    if rows.is_safe and rows.kind not in (BoundKind.CONSTANT, BoundKind.NONE):
        rows = Bound(BoundKind.KEYS, f"the groups of {rows.words}", rows.size)
    return least([bound for bound in (numbers, rows) if bound is not None])


def supplying(keys: Iterable[Expr], below: Relation, catalog: Catalog) -> Bound:
    """How many combinations of rows there are of those operands of a join that keys read: no more keys than these."""
    read = frozenset(column for key in keys for column in columns(key))
    match below:
        case Project(inner, outputs):
            return supplying([o.expr for o in outputs if o.column in read], inner, catalog)
        case Join(operands):
            return times(content(operand, catalog) for operand in operands if read & frozenset(operand.schema))
        case Select(inner) | SemiJoin(left=inner) | AntiJoin(left=inner):
            return supplying(read, inner, catalog)
    return content(below, catalog)


@once
def unique_keys(relation: Relation, catalog: Catalog) -> tuple[frozenset[Column], ...]:
    """Sets of columns on which no two rows that a relation ever has agree."""
    match relation:
        case Window(stream, _):
            return _declared_keys(stream.name, stream.schema, catalog)
        case Table(name, _, own):
            return _declared_keys(name, own, catalog)
        case Select(below) | SemiJoin(left=below) | AntiJoin(left=below):
            return unique_keys(below, catalog)
    return ()


def held_keys(relation: Relation, catalog: Catalog) -> tuple[tuple[frozenset[Column], int], ...]:
    """Sets of columns, and how many rows that a relation has at one instant agree on them at most."""
    match relation:
        case Aggregate(_, keys):
            return ((frozenset(key.column for key in keys), 1),)
        case Distinct():
            return ((frozenset(relation.schema), 1),)
        case Window(_, PartitionRows(by, number)):
            return ((frozenset(by), number), *_once(relation, catalog))
        case Select(below) | SemiJoin(left=below) | AntiJoin(left=below):
            return held_keys(below, catalog)
    return _once(relation, catalog)


def _once(relation: Relation, catalog: Catalog) -> tuple[tuple[frozenset[Column], int], ...]:
    return tuple((key, 1) for key in unique_keys(relation, catalog))


def _declared_keys(name: str, schema: tuple[Column, ...], catalog: Catalog) -> tuple[frozenset[Column], ...]:
    definition = catalog.get(name)
    if not isinstance(definition, StreamDef | TableDef):
        return ()
    named = {column.name.lower(): column for column in schema}
    keys = (c.columns for c in definition.constraints if isinstance(c, Unique))
    return tuple(frozenset(named[name.lower()] for name in key) for key in keys)


def _keyed(relation: Relation, known: Finite, catalog: Catalog) -> Bound:
    """At most one row per value of a key whose columns take finitely many values."""
    found = (values(key, known) for key in map(tuple, unique_keys(relation, catalog)))
    return least([bound for bound in found if bound is not None])


def _join_content(join: Join, catalog: Catalog) -> Bound:
    """The product of the operands; one whose key is fixed by the others adds no combination."""
    pairs = [view for view in map(classify, join.on) if isinstance(view, ColumnEquality)]
    fixed: set[Column] = set()
    factors: list[Bound] = []
    pending = [(operand, content(operand, catalog), held_keys(operand, catalog)) for operand in join.operands]
    pending.sort(key=lambda entry: badness(entry[1]))
    while pending:
        keyed = [(entry, number) for entry in pending for key, number in entry[2] if key <= fixed]
        entry, number = min(keyed, key=lambda pair: pair[1]) if keyed else (pending[0], 1)
        if not keyed:
            if not entry[1].is_safe:
                return UNBOUNDED
            factors.append(entry[1])
        elif number > 1:
            factors.append(entries(number, "row"))
        pending.remove(entry)
        fixed |= frozenset(entry[0].schema)
        fixed |= {b for p in pairs for a, b in ((p.left, p.right), (p.right, p.left)) if a in fixed}
    return times(factors)
