"""Windows as keys of GROUP BY: `window(ts, '10 minutes')`, `TUMBLE`, and windows that overlap, `HOP`.

A window is known by its start, which never falls as time goes on, so its group ends. A row is in one window of those
that follow each other, and in several of those that overlap: then the rows are grouped once for each, in a union.

    window(ts, '10 minutes', '5 minutes')       |---- :00 to :10 ----|
                                                           |---- :05 to :15 ----|
                                                      ts = :07 is in both
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from penstock.algebra.copies import numbered, union_all
from penstock.algebra.expressions import (
    Arithmetic,
    Call,
    Column,
    Comparator,
    Compare,
    Expr,
    Literal,
    Operator,
    substitute,
)
from penstock.algebra.relations import Output, Project, Relation, Select
from penstock.sql.cases import copy_of
from penstock.sql.coercion import widen
from penstock.sql.context import Context
from penstock.sql.dialect import UNIT_NAMES, exact_microseconds
from penstock.sql.environment import Environment
from penstock.sql.syntax import Tree
from penstock.types import BIGINT, DAY, INTERVAL, TIMESTAMP, UNITS, Kind, duration_text

#: The functions that name windows, and those that give the ends of one.
GROUP_WINDOWS = frozenset({"WINDOW", "TUMBLE", "HOP"})
WINDOW_ENDS = {name: (name.partition("_")[0], name.partition("_")[2]) for name in (
    "TUMBLE_START", "TUMBLE_END", "HOP_START", "HOP_END"
)}  # fmt: skip

#: So many windows of one row are the most: each reads its rows by itself.
MOST_WINDOWS = 60

_USAGE = {
    "WINDOW": "write window(time, '10 minutes'), window(time, '10 minutes', '5 minutes') to let windows overlap, or "
    "window(time, '10 minutes', '10 minutes', '1 minute') to move them",
    "TUMBLE": "write TUMBLE(time, INTERVAL 10 MINUTES)",
    "HOP": "write HOP(time, INTERVAL 5 MINUTES, INTERVAL 10 MINUTES): how far windows are apart, and how long they are",
}


@dataclass(frozen=True, slots=True)
class GroupWindow:
    """Windows of a time: how long they are, how far apart, and by how much they are moved, in microseconds."""

    time: Expr
    size: int
    slide: int
    offset: int = 0

    @property
    def overlaps(self) -> int:
        """How many windows a time may be in."""
        return -(-self.size // self.slide)

    def start(self, earlier: int = 0) -> Expr:
        """When the latest window of a time starts, or one so many before it."""
        moved = _plus(Call("UNIX_MICROS", (self.time,)), -self.offset)
        slide = Literal(self.slide, BIGINT)
        # Of times before 1970 the remainder is negative.
        positive = Arithmetic(Operator.ADD, Arithmetic(Operator.MODULO, moved, slide), slide)
        floor = Arithmetic(Operator.SUBTRACT, moved, Arithmetic(Operator.MODULO, positive, slide))
        return Call("TIMESTAMP_MICROS", (_plus(floor, self.offset - earlier * self.slide),))

    def end(self, start: Expr) -> Expr:
        return Arithmetic(Operator.ADD, start, Literal(self.size, INTERVAL))


def _plus(expr: Expr, by: int) -> Expr:
    return Arithmetic(Operator.ADD, expr, Literal(by, BIGINT)) if by else expr


def is_group_window(tree: Tree) -> bool:
    return isinstance(tree, exp.Anonymous) and tree.name.upper() in GROUP_WINDOWS


def bind_group_window(tree: exp.Anonymous, args: tuple[Expr, ...], context: Context, name: str) -> GroupWindow:
    """What a call of window, TUMBLE or HOP says."""
    most = {"WINDOW": (2, 3, 4), "TUMBLE": (2, 3), "HOP": (3, 4)}[name]
    if len(args) not in most:
        context.fail(f"{name} takes a time and durations, and here are {len(args)} arguments", _USAGE[name], tree)
    time = widen(args[0], TIMESTAMP) if args[0].type.kind is Kind.DATE else args[0]
    if time.type != TIMESTAMP:
        hint = "make a TIMESTAMP of it, with TIMESTAMP_SECONDS, TIMESTAMP_MILLIS or TO_TIMESTAMP"
        context.fail(f"{name} takes a TIMESTAMP first, not a {time.type}", hint, tree)
    durations = [
        _duration(arg, place, name, context) for arg, place in zip(args[1:], tree.expressions[1:], strict=True)
    ]
    if name == "HOP":
        durations[:2] = durations[1::-1]
    if name == "TUMBLE":
        durations.insert(1, durations[0])
    size, slide, offset = (*durations, *durations[:1], 0)[:3] if len(durations) == 1 else (*durations, 0)[:3]
    found = GroupWindow(time, size, slide, offset)
    if size == 0 or slide == 0:
        context.fail("a window of no length has no rows", _USAGE[name], tree)
    if slide > size:
        hint = "windows that do not overlap are as far apart as they are long"
        context.fail(f"these windows leave gaps: {duration_text(size)} every {duration_text(slide)}", hint, tree)
    if found.overlaps > MOST_WINDOWS:
        hint = "start them less often, or count shorter ones that do not overlap, and add those up"
        context.fail(f"each row is in {found.overlaps} windows, and {MOST_WINDOWS} are the most", hint, tree)
    return found


def _duration(arg: Expr, place: Tree, name: str, context: Context) -> int:
    value = arg.value if isinstance(arg, Literal) else None
    if arg.type == INTERVAL and isinstance(value, int) and value >= 0:
        return value
    found = _read_duration(value) if isinstance(value, str) else None
    if found is None:
        context.fail(f"{name} takes durations such as '10 minutes'", f"units are {UNIT_NAMES}", place)
    return found


def _read_duration(text: str) -> int | None:
    """`1 hour 30 minutes` in microseconds."""
    words = text.lower().removeprefix("interval ").split()
    total, pairs = 0, list(zip(words[::2], words[1::2], strict=False))
    if not pairs or len(words) % 2:
        return None
    for number, word in pairs:
        unit = 7 * DAY if word in ("week", "weeks") else UNITS.get(word.upper()) or UNITS.get(word.upper()[:-1])
        part = exact_microseconds(number, unit) if unit else None
        if part is None:
            return None
        total += part
    return total


@dataclass(frozen=True, slots=True)
class OverlappingWindows:
    """A key that is the start of each window that a row is in."""

    window: GroupWindow
    column: Column

    def over(self, relation: Relation, env: Environment) -> Relation:
        """The relation with the starts of windows: each row as often as it is in windows."""
        schema = (*relation.schema, self.column)
        number = self.window.overlaps
        return union_all([self._case(relation, earlier, schema, env) for earlier in range(number)], schema, env.copies)

    def _case(self, relation: Relation, earlier: int, schema: tuple[Column, ...], env: Environment) -> Relation:
        rows, names = copy_of(relation, env)
        start = substitute(self.window.start(earlier), names)
        if (earlier + 1) * self.window.slide > self.window.size:  # only the first part of this window reaches here
            time = substitute(self.window.time, names)
            rows = Select(rows, (Compare(Comparator.GT, self.window.end(start), time),))
        outputs = (*(names[column] for column in relation.schema), start)
        return Project(rows, tuple(map(Output, numbered(schema, env.copies.fresh("window")), outputs)))
