"""Joint rows: the streams below a relation whose rows meet in a change of it, and what is true of them together.

A change goes back to a row of one stream, which joins, matches or is grouped with rows of others. What joins and
semi-joins compare is true of all of them. What an anti-join compares is true only if its right side brings the change:

    (a JOIN b ON a.k = b.k) ANTI JOIN c ON b.m = c.m
        a row of c changes what shows of the rows of a and b with its m         a.k = b.k, b.m = c.m
        a row of a or b may have no partner in c at all                         a.k = b.k

Set operations are members by themselves: a row of one side meets none of the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from penstock.algebra.expressions import Column, Expr, columns, substitute
from penstock.algebra.physical import Keep, Scan
from penstock.algebra.relations import (
    Aggregate,
    Distinct,
    Project,
    Relation,
    Repeat,
    Select,
    SetOp,
    Table,
    Unbounded,
    walk_relations,
)
from penstock.closing.group_closers import GroupEnding
from penstock.closing.join_variables import is_monotone
from penstock.closing.physical_join import JoinKind, PhysicalJoin
from penstock.errors import PenstockError

#: Of columns what they are in terms of the members' columns.
Inside = Mapping[Column, Expr]
#: The anti-joins, by number, on whose right side something lies.
_Antis = frozenset[int]


@dataclass(frozen=True, slots=True)
class Joint:
    """Members that bring changes, with the others that their rows meet, and what is true of all of these."""

    bringing: tuple[Scan | SetOp, ...]
    scans: tuple[Scan, ...]
    tables: tuple[Table, ...]
    on: tuple[Expr, ...]


class JointRows:
    """What lies below one or several relations. They are added first, and then asked about."""

    def __init__(self) -> None:
        self._members: list[tuple[Scan | SetOp | Table, _Antis]] = []
        self._facts: list[tuple[Expr, _Antis]] = []
        self._count = 0
        #: Where rows of one input of a join end: the scans that only add other rows to it, and those it has rows of.
        self._adding, self._there = frozenset[int](), frozenset[int]()
        #: The scan whose rows, as they come, are those that end, if they are one's.
        self.entries: Scan | None = None
        #: Whether a row that is there says nothing of rows of each member: some need no partner.
        self.matches = False

    def add(self, relation: Relation, antis: _Antis = frozenset()) -> Inside:
        """What columns of a relation are, in terms of those of scans, tables and set operations below it."""
        match relation:
            case Scan() | SetOp() | Table():
                self._members.append((relation, antis))
                self.matches |= isinstance(relation, SetOp)
                return {column: column for column in relation.schema}
            case Project(below, outputs) | Aggregate(below, outputs):
                inside = self.add(below, antis)
                return {o.column: expr for o in outputs if (expr := _inside(o.expr, inside)) is not None}
            case Select(below, predicates):
                inside = self.add(below, antis)
                self._add_facts(predicates, inside, antis)
                return inside
            case Keep(below) | Repeat(below) | Distinct(below) | GroupEnding(below):
                return self.add(below, antis)
            case PhysicalJoin(kind, operands, on):
                self.matches |= kind is not JoinKind.JOIN
                self._count += 1
                right = antis | {self._count} if kind is JoinKind.ANTI else antis
                parts = [self.add(each, right if n else antis) for n, each in enumerate(operands)]
                inside = {column: expr for part in parts for column, expr in part.items()}
                self._add_facts(on, inside, right)
                return inside
        raise AssertionError(f"no changes are known of {relation}")

    def add_inputs(self, join: PhysicalJoin, own: int) -> Inside:
        """The inputs of a join as a row of one of them meets them: that row changes by itself, the others match it."""
        self._count += 1
        others = frozenset({self._count})
        parts = [self.add(each, frozenset() if n == own else others) for n, each in enumerate(join.operands)]
        self._add_facts(join.on, {c: expr for part in parts for c, expr in part.items()}, others)
        self._adding = frozenset(id(scan) for scan in _adding(join.operands[own]))
        self._there = frozenset(id(scan) for scan in _there(join.operands[own]))
        self.entries = _entries(join.operands[own])
        return parts[own]

    def keep_values(self) -> None:
        """The rows are values, each of which is remembered as long as it may come again."""
        self._adding = frozenset()

    def only_adds(self, member: Scan | SetOp) -> bool:
        """Whether rows of a member take none of the rows back that end."""
        return id(member) in self._adding

    def is_there(self, member: Scan | SetOp) -> bool:
        """Whether each of the rows that end has a row of a member."""
        return id(member) in self._there

    def joints(self) -> Iterator[Joint]:
        """Each stream and set operation brings changes in one of them."""
        for antis in dict.fromkeys(antis for _, antis in self._members):
            met = [member for member, own in self._members if own <= antis]
            scans = tuple(member for member in met if isinstance(member, Scan))
            tables = tuple(member for member in met if isinstance(member, Table))
            bringing = tuple(m for m, own in self._members if own == antis and not isinstance(m, Table))
            held = frozenset(column for member in met for column in member.schema)
            on = tuple(fact for fact, own in self._facts if own <= antis and columns(fact) <= held)
            yield Joint(bringing, scans, tables, on)

    @property
    def lasts(self) -> bool:
        """Whether rows of some stream never leave."""
        return any(isinstance(member, Scan) and isinstance(member.spec, Unbounded) for member, _ in self._members)

    def _add_facts(self, predicates: tuple[Expr, ...], inside: Inside, antis: _Antis) -> None:
        found = (_inside(predicate, inside) for predicate in predicates)
        self._facts += [(fact, antis) for fact in found if fact is not None]


def _adding(relation: Relation) -> Iterator[Scan]:
    """The scans whose rows, when they come, take no row of a relation back."""
    match relation:
        case _ if is_monotone(relation):
            yield from (node for node in walk_relations(relation) if isinstance(node, Scan))
        case PhysicalJoin(kind, operands):
            for operand in operands[:1] if kind is JoinKind.ANTI else operands:
                yield from _adding(operand)
        case Select(below) | Project(below) | Keep(below) | Repeat(below) | Distinct(below):
            yield from _adding(below)


def _there(relation: Relation) -> Iterator[Scan]:
    """The scans of which each row of a relation has a row that stays."""
    match relation:
        case Scan(spec=Unbounded()):
            yield relation
        case PhysicalJoin(kind, operands):
            for operand in operands if kind is JoinKind.JOIN else operands[:1]:
                yield from _there(operand)
        case Aggregate(below, (_, *_)):
            yield from _there(below)
        case Select(below) | Project(below) | Keep(below) | Distinct(below) | GroupEnding(below):
            yield from _there(below)


def _entries(relation: Relation) -> Scan | None:
    """The scan whose rows are those of a relation, or the first of those that are alike."""
    while isinstance(relation, Select | Project | Keep | Distinct | GroupEnding):
        relation = relation.input
    return relation if isinstance(relation, Scan) and isinstance(relation.spec, Unbounded) else None


def _inside(expr: Expr, inside: Inside) -> Expr | None:
    """An expression in terms of members' columns; None if it reads anything else, or would be very long."""
    if not columns(expr) <= inside.keys():
        return None
    try:
        return substitute(expr, inside)
    except PenstockError:
        return None
