"""What is assumed is watched: the monitors of links between streams that are not joined.

Two rows match that agree on the columns which the join compares, and whose times differ as its conditions allow. On a
sample of keys a monitor sees whether each child has its parent, and counts for the assertions that say so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from penstock.algebra.expressions import Column, Comparator, Compare, Expr
from penstock.algebra.link_monitor import LinkMonitor, Promise
from penstock.algebra.physical import Keep
from penstock.algebra.relations import Output, Project, Relation, Select, Unbounded, Window
from penstock.catalog import AssertionDef, Catalog, OnViolation
from penstock.elimination.conditions import condition_of
from penstock.elimination.constraints import AtMost
from penstock.elimination.occurrences import Elimination, Occurrence, Partnership, column_of

_NOT_WATCHED = Promise("", (), is_watched=False)


def promise(claim: str, leans_on: tuple[str, ...], catalog: Catalog) -> Promise:
    """What ON VIOLATION of the assertions says: one that stops the run does, and all have to be ignored."""
    assertions = [d for name in leans_on if isinstance(d := catalog.get(name), AssertionDef)]
    stops = any(each.on_violation is OnViolation.ERROR for each in assertions)
    ignored = bool(assertions) and all(each.on_violation is OnViolation.IGNORE for each in assertions)
    return Promise(claim, leans_on, stops, not ignored)


def monitors_of(eliminations: Iterable[Elimination], one_in: int, catalog: Catalog) -> tuple[LinkMonitor, ...]:
    """The monitors of what exact eliminations lean on."""
    promised = (each.promised for each in eliminations)
    found = [_monitor(each, one_in, catalog) for each in promised if each is not None]
    return tuple(each for each in found if each is not None)


def _monitor(promised: Partnership, one_in: int, catalog: Catalog) -> LinkMonitor | None:
    child, parent = promised.child, promised.parent
    compared = list(compared_columns(promised.on, parent))
    exists = promise(f"each {child.name} has a {parent.name}", promised.exists, catalog)
    unique = _NOT_WATCHED if promised.key is None else Promise(f"one {parent.name} per {child.name}", (promised.key,))
    if not compared or not exists.is_watched:
        return None
    least, most = time_window(promised.on, parent, child)
    of_parent = read_rows(parent, [one for one, _ in compared], ())
    of_child = read_rows(child, [other for _, other in compared], ())
    promises = exists, unique, _NOT_WATCHED
    return LinkMonitor(of_parent, of_child, len(compared), (), least, most, None, False, promises, one_in)


def compared_columns(on: Iterable[Expr], one: Occurrence) -> Iterator[tuple[Column, Column]]:
    """Columns that conditions make equal, of an occurrence and of another one.

    They are of one type, or INT and BIGINT, whose values are the same words: so hashes of either meet.
    """
    own = set(one.leaf.schema)
    for predicate in on:
        if isinstance(predicate, Compare) and predicate.op is Comparator.EQ:
            left, right = column_of(predicate.left), column_of(predicate.right)
            if left is not None and right is not None:
                yield (left, right) if left in own else (right, left)


def time_window(on: Iterable[Expr], parent: Occurrence, child: Occurrence) -> tuple[int | None, int | None]:
    """The least and the most by which the time of a child may be after that of its parent, by these conditions."""
    least: int | None = None
    most: int | None = None
    times = {each.name: _timestamp(each) for each in (parent, child)}
    for condition in (each for predicate in on for each in condition_of(predicate, times) or ()):
        match condition:
            case AtMost(later, earlier, bound) if (later, earlier) == (child.name, parent.name):
                most = bound if most is None else min(most, bound)
            case AtMost(later, earlier, bound) if (later, earlier) == (parent.name, child.name):
                least = -bound if least is None else max(least, -bound)
    return least, most


def read_rows(one: Occurrence, compared: Sequence[Column], keys: Sequence[Expr]) -> Relation:
    """The rows of a stream that pass an occurrence's filters, as columns that are compared, and keys."""
    assert isinstance(one.leaf, Window)
    leaf = Window(one.leaf.stream, Unbounded())
    rows: Relation = Select(leaf, one.predicates) if one.predicates else leaf
    outputs = [Output(Column(one.name, f"_match{n}", column.type), column) for n, column in enumerate(compared)]
    outputs += [Output(Column(one.name, f"_event{n}", key.type), key) for n, key in enumerate(keys)]
    return Project(rows, tuple(outputs)) if outputs else Keep(rows, ())


def _timestamp(one: Occurrence) -> str:
    assert isinstance(one.leaf, Window)
    return one.leaf.stream.timestamp.name
