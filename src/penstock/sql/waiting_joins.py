"""Outer joins as streams: a row without a partner comes once, when no partner can come any more.

With ISTREAM and EMIT ON CLOSE a result has insertions only, so NULLs must not stand in for a partner that is yet to
come. The join is a union of cases, by which of its relations have a row in a result. A case in which all of them do is
a join, whose rows come at once. In the others, rows are grouped by all that is there, together with their partners:

    a LEFT JOIN b ON c      SELECT a.* FROM a UNION ALL SELECT a.* FROM a JOIN b ON c      matched: FALSE, TRUE
                            GROUP BY a.*: closes when b is closed for it, and shows if nothing matched

What closes such a group is what closes all groups (`closing/`): a range of times, a punctuation, a reference within a
time. Windows of time are ranges: a row may meet those that come while it is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from penstock.algebra.copies import numbered, union_all
from penstock.algebra.expressions import (
    Arithmetic,
    Case,
    Column,
    Comparator,
    Compare,
    Expr,
    Literal,
    Operator,
    substitute,
)
from penstock.algebra.functions import AggregateFunction
from penstock.algebra.relations import (
    Aggregate,
    Aggregation,
    Join,
    Output,
    Project,
    Range,
    Relation,
    Repeat,
    Schema,
    Select,
    Stream,
    Unbounded,
    Window,
    rewrite_relation,
    walk_relations,
)
from penstock.algebra.rewrites.drop_empty_cases import outcomes
from penstock.sql.cases import copy_of
from penstock.sql.environment import Environment
from penstock.sql.syntax import Tree
from penstock.types import BIGINT, INTERVAL, TIMESTAMP

_ONE = Literal(1, BIGINT)
_ZERO = Literal(0, BIGINT)


@dataclass(frozen=True, slots=True)
class Presence:
    """A case: relations that have a row in it, and relations that have none that would fit, each with conditions."""

    present: tuple[Relation, ...]
    on: tuple[Expr, ...] = ()
    absent: tuple[tuple[Relation, tuple[Expr, ...]], ...] = ()

    def meeting(self, other: Relation, on: tuple[Expr, ...], columns: Schema) -> Presence | None:
        """With a row of one more relation, if conditions can be true of it."""
        known = self._of_known(on, (*columns, *other.schema), other.schema)
        if any(True not in outcomes(predicate) for predicate in known):
            return None
        return replace(self, present=(*self.present, other), on=(*self.on, *known))

    def missing(self, other: Relation, on: tuple[Expr, ...], columns: Schema) -> Presence:
        """Without one."""
        known = self._of_known(on, (*columns, *other.schema), other.schema)
        if any(True not in outcomes(predicate) for predicate in known):
            return self
        return replace(self, absent=(*self.absent, (other, known)))

    def _of_known(self, on: tuple[Expr, ...], columns: Schema, more: Schema) -> tuple[Expr, ...]:
        """Conditions in which columns of relations that are not there are NULL."""
        there = {column for relation in self.present for column in relation.schema} | set(more)
        nulls: dict[Column, Expr] = {c: Literal(None, c.type) for c in columns if c not in there}
        return tuple(substitute(predicate, nulls) for predicate in on)


def join_cases(
    cases: Sequence[Presence], side: str, right: Relation, on: tuple[Expr, ...], columns: Schema
) -> list[Presence] | None:
    """The cases of what they are joined to by one more relation; None where that is not known in this form."""
    met = [case for each in cases if (case := each.meeting(right, on, columns)) is not None]
    if side == "":
        return met
    if side == "LEFT":
        return met + [case.missing(right, on, columns) for case in cases]
    if len(cases) != 1:
        return None
    (left,) = cases
    joined = left.present[0] if len(left.present) == 1 else Join(left.present, left.on)
    alone = [Presence((right,), (), ((joined, on),))]
    return met + alone + ([left.missing(right, on, columns)] if side == "FULL" else [])


def waiting_join(cases: Sequence[Presence], columns: Schema, place: Tree, env: Environment) -> Relation:
    """The union of cases, of which those with an absence show when they close."""
    found = [_case(_in_ranges(case, place, env), columns, env) for case in cases]
    return union_all(found, columns, env.copies)


def _case(case: Presence, columns: Schema, env: Environment) -> Relation:
    rows: Relation = case.present[0] if len(case.present) == 1 and not case.on else Join(case.present, case.on)
    padded = numbered(columns, env.copies.fresh("unmatched" if case.absent else "matched"))
    if not case.absent:
        copy, names = copy_of(rows, env)
        return Project(
            copy,
            tuple(
                Output(new, names.get(old, Literal(None, old.type))) for new, old in zip(padded, columns, strict=True)
            ),
        )
    union = _with_partners(case, rows, env)
    keys = numbered(rows.schema, env.copies.fresh("waiting"))
    groups = [Output(key, column) for key, column in zip(keys, rows.schema, strict=True)]
    label, matched = keys[0].scope, union.schema[-1]
    counts = [
        Aggregation(
            Column(label, name, BIGINT),
            AggregateFunction.COUNT,
            Case((Compare(Comparator.EQ, matched, of),), (_ONE,), Literal(None, BIGINT)),
        )
        for name, of in (("rows", _ZERO), ("partners", _ONE))
    ]
    grouped = Aggregate(union, tuple(groups), tuple(counts))
    env.places.setdefault(label, env.diagnostics.whole)
    alone = Select(grouped, (Compare(Comparator.EQ, counts[1].column, _ZERO),))
    own = dict(zip(rows.schema, keys, strict=True))
    outputs = (own.get(column, Literal(None, column.type)) for column in columns)
    return Project(Repeat(alone, counts[0].column), tuple(map(Output, padded, outputs)))


def _with_partners(case: Presence, rows: Relation, env: Environment) -> Relation:
    """The rows that are there, and once more with each partner that they must not have; the last column tells which."""
    schema = (*rows.schema, Column(env.names.fresh("partner"), "matched", BIGINT))

    def marked(relation: Relation, matched: Literal) -> Relation:
        copy, names = copy_of(relation, env)
        values = (*(names[column] for column in rows.schema), matched)
        return Project(copy, tuple(map(Output, numbered(schema, env.copies.fresh("partners")), values)))

    joined = [Join((*case.present, other), (*case.on, *on)) for other, on in case.absent]
    return union_all([marked(rows, _ZERO), *(marked(join, _ONE) for join in joined)], schema, env.copies)


def _in_ranges(case: Presence, place: Tree, env: Environment) -> Presence:
    """The case over unbounded windows: that two rows are there together is a condition on their times."""
    relations = (*case.present, *(other for other, _ in case.absent))
    for window in (node for relation in relations for node in walk_relations(relation) if isinstance(node, Window)):
        is_counted = not isinstance(window.spec, Unbounded | Range) or getattr(window.spec, "slide", None) is not None
        if is_counted or (isinstance(window.spec, Range) and window.stream.timestamp.type != TIMESTAMP):
            hint = "give the streams windows [RANGE n unit], or none and a condition on their times"
            env.fail(
                f"with ISTREAM an outer join waits for a time, and the window of {window.stream.occurrence} has none",
                hint,
                place,
            )
    present = tuple(map(_unbounded, case.present))
    meetings = tuple(_meetings(case.present))
    absent = tuple((_unbounded(other), (*on, *_meetings((*case.present, other)))) for other, on in case.absent)
    return Presence(present, (*case.on, *meetings), absent)


def _unbounded(relation: Relation) -> Relation:
    return rewrite_relation(
        relation, lambda node: Window(node.stream, Unbounded()) if isinstance(node, Window) else node
    )


def _meetings(relations: Sequence[Relation]) -> Iterator[Expr]:
    """That rows of streams are in their windows at one time."""
    windows = [relation for relation in relations if isinstance(relation, Window)]
    for window in windows:
        for other in windows:
            if other is not window and isinstance(window.spec, Range):
                yield _comes_while(other.stream, window.stream, window.spec.width)


def _comes_while(later: Stream, there: Stream, width: int) -> Expr:
    limit = Arithmetic(Operator.ADD, there.timestamp, Literal(width, INTERVAL))
    return Compare(Comparator.LE, later.timestamp, limit)
