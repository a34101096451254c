"""Early results: which queries may give a result as soon as its rows are there, before their instants are closed.

A row of a query that waits is taken when no stream can add to its instant any more. A query of the class here takes it
when the streams of its *group* can add nothing; the groups know nothing of each other:

    waits      bid    ──────────────▶|          both are taken up to here, because item is no further
               item   ──────────────▶|

    early      bid    ──────────────────────▶|  up to where bid is closed: its punctuations reject rows of it
               item   ────────────────────────▶ as they arrive: nothing says which of them count
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from penstock.algebra.physical import Keep, Scan
from penstock.algebra.printing import Json
from penstock.algebra.relations import Project, Query, Relation, Select, StreamKind, Table, Unbounded
from penstock.closing.physical_join import JoinKind, PhysicalJoin
from penstock.closing.rules import ByKey, ByNo, ByPunctuation, InTime, Rule, Static

if TYPE_CHECKING:
    from penstock.plan.guards import Guard

#: The rules that are about the rows that may still come, in whatever order.
_TIMELESS = Static | InTime | ByPunctuation | ByKey | ByNo


@dataclass(frozen=True, slots=True)
class Early:
    """How a query whose results were asked for early gives them."""

    #: Why it waits for the watermark all the same.
    obstacle: str | None = None
    #: The streams that are read in the order of time, each with those that are read in step with it.
    groups: tuple[tuple[str, ...], ...] = ()

    def awaited(self, stream: str) -> tuple[str, ...] | None:
        """The streams that have to close the instant of a stream's row; None where all of the query have to."""
        if self.obstacle is not None:
            return None
        return next((group for group in self.groups if stream in group), ())

    def json(self) -> dict[str, Json]:
        """What `explain --json` says."""
        groups: list[Json] = [list(group) for group in self.groups]
        return {"obstacle": self.obstacle, "groups": groups}

    def __str__(self) -> str:
        """What `explain` says.

        >>> print(Early("it groups"))
        wait for the watermark, because it groups
        >>> print(Early(groups=(("bid", "closed"),)))
        come at once; rows of bid and closed wait until bid and closed have closed their instant
        """
        if self.obstacle is not None:
            return f"wait for the watermark, because {self.obstacle}"
        waits = (f"; rows of {_listed(g)} wait until {_listed(g)} ha{'s' if len(g) == 1 else 've'} closed their instant"
                 for g in self.groups)  # fmt: skip
        return "come at once" + "".join(waits)


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def with_early(query: Query, *, early: bool) -> Query:
    """The query, whose results are asked for early if a run asks so, unless the query itself says how."""
    return query if query.early is not None else replace(query, early=early)


def early(root: Relation, leaves: Sequence[Relation], guards: Iterable[Guard], kind: StreamKind | None) -> Early:
    """Whether a plan of one fragment, of this root, may give results early, and which streams then wait for which.

    The class are inner joins of `[UNBOUNDED]` windows and tables, with whatever filters and select list, as a change
    log or ISTREAM; so is a filter of one stream. Why the results are those of the query that waits:

    *The same combinations.* Of such a join R(t) are the combinations of rows with ts <= t that pass its predicates. It
    only grows, so its stream is each combination once, whatever equal ones there are, at the instant of its latest row.
    That instant is a function of the rows, and is given as `_ts`. When the rows of a combination are taken in any
    order, the last that is taken finds the others, if none was dropped before.

    *What is dropped.* A purge drops a row when no row that can still come completes a combination with it: it looks at
    the rows that are there, and at what the rules say of those that are not. So it needs no more of the order in which
    rows are taken than that the rules are true of all rows that were not yet taken. Those of the class are:

    - of times (`InTime`): all rows before `until`, the first instant that not all streams have closed, are taken. A
      stream closes no later instants for itself than those for which its own rows are late;
    - of punctuations: one is learned when its group has closed its instant, and the group holds the stream of which it
      speaks. So all rows of that stream that were not taken are newer, and those of its values are rejected;
    - of keys and tables: a row that is there is there, whenever it was taken.

    Rules that count rows, or give values a time, are about an order among rows of several streams. So are their
    monitors. A row that may be dropped because its only partners came before (`Admission`) is stored all the same.

    *What is rejected.* A row is rejected if a punctuation of its values has an earlier instant. Both are of one group,
    whose rows are taken in the order of time; so the same rows are rejected as if all streams were.

    Where an aggregate, DISTINCT, an outer join or EXISTS reads the rows, a later row may take back what was said, or
    say it of an earlier instant. A window with an end takes rows away, and what comes at that instant may be equal.
    """
    obstacle = _obstacle(root, kind)
    if obstacle is not None:
        return Early(obstacle)
    links = [(_stream(leaves[guard.leaf]), _stream(leaves[guard.evidence])) for guard in guards]
    join = _join_below(root)
    if isinstance(join, PhysicalJoin):
        links += [
            (_stream(join.operands[rule.target]), _stream(join.evidence[rule.evidence]))
            for rule in join.rules
            if isinstance(rule, ByPunctuation)
        ]
    groups = tuple(sorted(tuple(sorted(group)) for group in _connected(links)))
    streams = {leaf.stream.name for leaf in leaves if isinstance(leaf, Scan)}
    if any(streams <= set(group) for group in groups):
        read = _listed(sorted(streams))
        return Early(_ITS_OWN if len(streams) == 1 else f"{read} are read in step, because {_SPEAK}")
    return Early(groups=groups)


_ITS_OWN = "it reads one stream, whose own punctuations say which rows count"
_SPEAK = "punctuations of one speak of the other"


def _obstacle(root: Relation, kind: StreamKind | None) -> str | None:
    """Why the results of a relation are not the same in whatever order its rows are taken."""
    if kind is not None and kind is not StreamKind.ISTREAM:
        return f"{kind.value} is about what a relation holds at each instant"
    below = _join_below(root)
    if isinstance(below, Scan):
        return _of_operand(below)
    if not isinstance(below, PhysicalJoin) or below.kind is not JoinKind.JOIN:
        return "it is more than an inner join of streams, with filters and a select list"
    if below.counted or below.buckets or below.endings:
        return "its join keeps sums or ends of rows, and not the rows"
    obstacles = (*map(_of_operand, below.operands), *map(_of_rule, below.rules))
    found = next(filter(None, obstacles), None)
    if found is None and below.monitors:
        return f"{below.monitors[0].constraint} is watched in the order of time"
    return found


def _join_below(root: Relation) -> Relation:
    """The relation whose rows are the results, but for what is done to each by itself."""
    while isinstance(root, Select | Project | Keep):
        root = root.input
    return root


def _of_operand(operand: Relation) -> str | None:
    match operand:
        case Table() | Scan(spec=Unbounded(), sample=None):
            return None
        case Scan(stream):
            return f"the window of {stream.occurrence} has an end"
    return "it joins what is computed of streams, and not their rows"


def _of_rule(rule: Rule) -> str | None:
    match rule:
        case InTime(reach=reach) if not isinstance(reach, int):
            return "a time between rows is inferred"
        case ByPunctuation(referred=referred) if any(each.ticks is not None for each in referred):
            return "rows of several streams are counted"
        case _ if isinstance(rule, _TIMELESS):
            return None
    return "rows are purged by a number of rows, or for a time only"


def _stream(leaf: Relation) -> str:
    assert isinstance(leaf, Scan)
    return leaf.stream.name


def _connected(links: Iterable[tuple[str, str]]) -> Iterator[set[str]]:
    """The sets of names that links connect."""
    groups: list[set[str]] = []
    for link in links:
        touched = [group for group in groups if not group.isdisjoint(link)]
        groups = [group for group in groups if group not in touched] + [set(link).union(*touched)]
    yield from groups
