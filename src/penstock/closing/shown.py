"""Ends that show: each stream below tells when it is closed for the keys of a group, as EMIT ON CLOSE wants it.

The theory proves more ends than that, from rows that are stored: a stream may be closed for all values that the rows of
another have. These are the rules of the reference: a stream is closed by its own times or punctuations, after another
one that it follows, or because the keys name its row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.algebra.expressions import Column, Comparator, Expr
from penstock.algebra.predicates import ColumnDifference, ColumnEquality
from penstock.algebra.relations import Relation, Window
from penstock.catalog import Catalog, Constraint, OnViolation, Reference, StreamDef, Unique, WithinTime
from penstock.closing.asked import Asked, AskedBlock
from penstock.closing.blocks import flat_block
from penstock.closing.monotone_buckets import closable
from penstock.closing.scheme_closers import refers
from penstock.closing.translation import ending_of


def shows_ends(relation: Relation, keys: Iterable[Expr], catalog: Catalog) -> bool:
    """Whether every stream below a relation tells when it ends for values of the keys."""
    plain, stretches = closable(keys)
    question = AskedBlock(flat_block(relation), Asked(plain, stretches, seen=True))
    windows = {operand.name: operand.window for operand in question.block.operands if operand.window is not None}
    closed = set[str]()
    for operand in question.block.operands:
        own = frozenset(operand.relation.schema)
        asked = Asked(question.seen() & own, {c: w for c, w in stretches.items() if c in own}, seen=False)
        if operand.is_static or ending_of(operand.relation, asked, catalog) is not None:
            closed.add(operand.name)
    following, before = list(_following(question, windows, catalog)), set[str]()
    while closed != before:
        before = set(closed)
        closed |= {later for earlier, later in following if earlier in before}
    return {operand.name for operand in question.block.operands} <= closed | set(_named(question, windows, catalog))


def _following(question: AskedBlock, windows: dict[str, Window], catalog: Catalog) -> Iterator[tuple[str, str]]:
    """Pairs of streams, of which rows of the second that join rows of the first come a limited time later at most."""
    times = {window.stream.timestamp: name for name, window in windows.items()}
    for view in question.views:
        match view:
            case ColumnEquality(left, right) if left in times and right in times:
                yield from ((times[left], times[right]), (times[right], times[left]))
            case ColumnDifference(left, right, op) if left in times and right in times:
                if op in (Comparator.LT, Comparator.LE, Comparator.EQ):
                    yield times[right], times[left]
                if op in (Comparator.GT, Comparator.GE, Comparator.EQ):
                    yield times[left], times[right]
    for child, own in windows.items():
        for constraint in _constraints(own, catalog):
            if isinstance(constraint, Reference) and isinstance(constraint.within, WithinTime):
                parents = (n for n, w in windows.items() if w.stream.name.lower() == constraint.parent.lower())
                for parent in parents if constraint.on_violation is not OnViolation.WIDEN else ():
                    if refers(own, windows[parent], constraint, question.leader_of):
                        yield child, parent


def _named(question: AskedBlock, windows: dict[str, Window], catalog: Catalog) -> Iterator[str]:
    """The streams of which the keys name one row by UNIQUE, or a row that they name does."""
    known, left = {question.leader_of(column) for column in question.asked.equal}, dict(windows)
    while True:
        found = [name for name, window in left.items() if _is_named(window, known, question, catalog)]
        if not found:
            return
        for name in found:
            known |= {question.leader_of(column) for column in left.pop(name).stream.schema}
        yield from found


def _is_named(window: Window, known: set[object], question: AskedBlock, catalog: Catalog) -> bool:
    own: dict[str, Column] = {column.name.lower(): column for column in window.stream.schema}
    keys = (constraint.columns for constraint in _constraints(window, catalog) if isinstance(constraint, Unique))
    return any(all(question.leader_of(own[name.lower()]) in known for name in key) for key in keys)


def _constraints(window: Window, catalog: Catalog) -> tuple[Constraint, ...]:
    definition = catalog.get(window.stream.name)
    return definition.constraints if isinstance(definition, StreamDef) else ()
