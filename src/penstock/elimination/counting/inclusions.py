"""What a link of a join tree must satisfy for its join to be counted, as questions of implication (001, 4.1 to 4.3).

For a link of p with o, and its conditions C, which may be a window of time over columns that are no key (4.1):

| condition | as a constraint |
| --- | --- |
| o follows p within e | for each o there is a p with C, no later than o and at most e before it |
| one o per p | for p, o and o' with C of p and o, and of p and o': both agree on all columns, or on a declared key |

The filters of o are premises of the first. Those of p belong to its conclusion: a filter that the inclusion does not
preserve makes it false. Rows that agree on all columns, virtual ones too, are one row: streams are sets to assertions.
That no row comes twice is watched while the query runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

from penstock.algebra.expressions import Column, Expr, columns, substitute
from penstock.algebra.printing import expression_text
from penstock.catalog import Catalog, StreamDef, Unique
from penstock.elimination.conditions import condition_of
from penstock.elimination.constraints import AtMost, Cell, Condition, Constraint, Equal, Row, renamed
from penstock.elimination.counting.join_tree import Link, Member, NotCounted, timestamps
from penstock.elimination.implication import decide
from penstock.elimination.proofs import Proof, proof_text, used
from penstock.elimination.translation import theory_of
from penstock.elimination.watching import compared_columns

#: Sums of so many constants of assertions are tried as the longest delay: errors add along a chain.
_LONGEST_CHAIN = 3


@dataclass(frozen=True, slots=True)
class Shown:
    """A condition of a rewriting, with its proof and the declarations that this leans on."""

    goal: Constraint
    proof: Proof
    leans_on: tuple[str, ...]

    @property
    def claim(self) -> str:
        return self.goal.name

    def __str__(self) -> str:
        return f"{self.claim} [{'; '.join(self.leans_on)}]" if self.leans_on else self.claim

    def text(self) -> str:
        """The claim and all steps of its proof."""
        return f"{self.claim}: implied\n{proof_text(self.goal, self.proof)}"


@dataclass(frozen=True, slots=True)
class Inclusion:
    """Each row of the lower member has its row of the upper one, no later and at most `delay` before it."""

    link: Link
    delay: int
    shown: tuple[Shown, ...]
    #: For columns of the upper member those of the lower one that have the same value.
    carried: Mapping[Column, Column]


def follows(link: Link, needed: frozenset[Column], catalog: Catalog) -> Inclusion:
    """That the lower member follows the upper one, row for row; `needed` are columns of it that must be carried."""
    upper, lower = link.upper, link.lower
    carried = dict(compared_columns(link.on, upper.occurrence))
    for column in sorted(needed | _read(upper.occurrence.predicates), key=str):
        same = next((c for c in lower.occurrence.leaf.schema if c.name == column.name and c.type == column.type), None)
        if column not in carried and same is not None:
            equal = Equal(Cell(upper.name, column.name), Cell(lower.name, same.name))
            if not _is_time(column, upper) and _shown(_inclusion(link, 0, (equal,), {}), catalog) is not None:
                carried[column] = same
    lost = sorted(expression_text(column) for column in needed if column not in carried)
    if lost:
        raise NotCounted(f"nothing says that {lower.name} has the {lost[0]} of the row of {upper.name} that it follows")
    unbounded = _shown(_inclusion(link, None, (), carried), catalog)
    if unbounded is None:
        raise NotCounted(
            f"the declarations do not imply that each row of {lower.name} has a row of {upper.name} no later than it "
            f"that satisfies {_text(link.on)}{_filters(upper)}"
        )
    delay = _least_delay(link, carried, catalog)
    if delay is None:
        raise NotCounted(
            f"the declarations do not bound how long after its row of {upper.name} one of {lower.name} comes"
        )
    return Inclusion(link, delay[0], (delay[1], *_one_to_one(link, catalog)), carried)


def precedes(link: Link, catalog: Catalog) -> tuple[Shown, ...] | None:
    """That each row of the upper member has just one of the lower one, no later than it: then that says nothing."""
    upper, lower = link.upper, link.lower
    conclusion = _all_conditions((*link.on, *lower.occurrence.predicates), (upper, lower))
    if conclusion is None:
        return None
    goal = Constraint(
        f"each {upper.name} has a {lower.name} no later than it",
        (_row(upper),),
        _some_conditions(upper.occurrence.predicates, (upper,)),
        (_row(lower),),
        (*conclusion, AtMost(lower.name, upper.name, 0)),
    )
    exists = _shown(goal, catalog)
    alone = None if exists is None else _unique(lower, upper, link, catalog)
    return None if exists is None or alone is None else (exists, alone)


def same_in_root(column: Column, root: Member, links: Sequence[Link], catalog: Catalog) -> tuple[Column, Shown] | None:
    """A column of the root that has the value of another stream's wherever they are joined, as is shown."""
    path = _path(column.scope, links)
    members = [root, *(link.lower for link in path)]
    if _is_time(column, members[-1]):
        return None
    on = [condition for link in path for condition in link.on]
    filters = [predicate for member in members for predicate in member.occurrence.predicates]
    premise, rows = _some_conditions((*on, *filters), members), tuple(map(_row, members))
    alike = [c for c in root.occurrence.leaf.schema if c.type == column.type and not _is_time(c, root)]
    for own in sorted(alike, key=lambda each: each.name != column.name):
        equal = Equal(Cell(root.name, own.name), Cell(column.scope, column.name))
        goal = Constraint(f"{expression_text(own)} = {expression_text(column)}", rows, premise, (), (equal,))
        found = _shown(goal, catalog)
        if found is not None:
            return own, found
    return None


def _path(name: str, links: Sequence[Link]) -> list[Link]:
    """The links from the root to a member."""
    above = next((link for link in links if link.lower.name == name), None)
    return [] if above is None else [*_path(above.upper.name, links), above]


def _one_to_one(link: Link, catalog: Catalog) -> Iterator[Shown]:
    for of, given in ((link.lower, link.upper), (link.upper, link.lower)):
        found = _unique(of, given, link, catalog)
        if found is None:
            raise NotCounted(
                f"the declarations do not imply that a row of {given.name} has one row of {of.name} at most: "
                f"two of them may differ"
            )
        yield found


def _inclusion(
    link: Link, delay: int | None, more: Sequence[Condition], carried: Mapping[Column, Column]
) -> Constraint:
    """That each row of the lower member has one of the upper member, within a delay, if one is given."""
    upper, lower = link.upper, link.lower
    own = set(lower.occurrence.predicates)
    kept = [
        f for f in upper.occurrence.predicates if not (columns(f) <= carried.keys() and substitute(f, carried) in own)
    ]
    if more:
        kept = []
    conclusion = _all_conditions((*link.on, *kept), (upper, lower))
    if conclusion is None:
        raise NotCounted(f"the theory does not express {_text((*link.on, *kept))}")
    within = f" within {delay}" if delay is not None else ""
    bound = (AtMost(lower.name, upper.name, delay),) if delay is not None and not more else ()
    return Constraint(
        f"each {lower.name} follows a {upper.name}{within}",
        (_row(lower),),
        _some_conditions(lower.occurrence.predicates, (lower,)),
        (_row(upper),),
        (*conclusion, AtMost(upper.name, lower.name, 0), *bound, *more),
    )


def _least_delay(link: Link, carried: Mapping[Column, Column], catalog: Catalog) -> tuple[int, Shown] | None:
    """The least sum of constants of the declarations that bounds the delay, with its proof."""
    constants = sorted(_constants(theory_of(catalog).constraints))
    sums = {
        sum(some) for n in range(1, _LONGEST_CHAIN + 1) for some in combinations_with_replacement(constants[:16], n)
    }
    candidates = sorted({0, *constants, *sums})
    found: tuple[int, Shown] | None = None
    low, high = 0, len(candidates)
    while low < high:
        middle = (low + high) // 2
        shown = _shown(_inclusion(link, candidates[middle], (), carried), catalog)
        if shown is None:
            low = middle + 1
        else:
            found, high = (candidates[middle], shown), middle
    return found


def _constants(theory: Iterable[Constraint]) -> set[int]:
    """The differences of times that existence is promised within."""
    conditions = (c for constraint in theory if constraint.some for c in constraint.conclusion)
    return {abs(c.most) for c in conditions if isinstance(c, AtMost) and c.most}


def _unique(of: Member, given: Member, link: Link, catalog: Catalog) -> Shown | None:
    """That a row of one member has one row of the other at most that satisfies the conditions."""
    twin = _twin(of.name)
    premise = _some_conditions((*link.on, *of.occurrence.predicates, *given.occurrence.predicates), (of, given))
    both = (*premise, *(renamed(condition, {of.name: twin}) for condition in premise))
    stream = catalog.get(of.occurrence.declared)
    assert isinstance(stream, StreamDef)
    rows = (_row(given), _row(of), Row(of.occurrence.declared, twin))
    same_time = (AtMost(of.name, twin, 0), AtMost(twin, of.name, 0))
    keys = [declared.columns for declared in stream.constraints if isinstance(declared, Unique)]
    for key in (*keys, tuple(attribute.name for attribute in stream.attributes)):
        equal = tuple(Equal(Cell(of.name, c), Cell(twin, c)) for c in key if c != stream.timestamp)
        goal = Constraint(f"one {of.name} per {given.name}", rows, both, (), (*equal, *same_time))
        found = _shown(goal, catalog)
        if found is not None:
            return found
    return None


def _twin(name: str) -> str:
    """The name of another row of a member."""
    return f"{name}'"


def _shown(goal: Constraint, catalog: Catalog) -> Shown | None:
    theory = theory_of(catalog, about=(goal,)).constraints
    proof = decide(theory, goal).proof
    if proof is None:
        return None
    return Shown(goal, proof, tuple(dict.fromkeys(c.name for c in theory if c.name in used(proof))))


def _all_conditions(exprs: Iterable[Expr], members: Sequence[Member]) -> tuple[Condition, ...] | None:
    """What expressions say, all of it; None where the theory does not express one."""
    times = timestamps(iter(members))
    translated = [condition_of(expr, times) for expr in exprs]
    if any(each is None for each in translated):
        return None
    return tuple(condition for each in translated if each is not None for condition in each)


def _some_conditions(exprs: Iterable[Expr], members: Sequence[Member]) -> tuple[Condition, ...]:
    """What expressions say, as far as the theory expresses it: a premise may be weaker."""
    times = timestamps(iter(members))
    translated = [condition_of(expr, times) for expr in exprs]
    return tuple(condition for each in translated if each is not None for condition in each)


def _row(member: Member) -> Row:
    return Row(member.occurrence.declared, member.name)


def _read(exprs: Iterable[Expr]) -> frozenset[Column]:
    return frozenset(column for expr in exprs for column in columns(expr))


def _is_time(column: Column, member: Member) -> bool:
    return timestamps(iter((member,)))[member.name] == column.name


def _text(exprs: Iterable[Expr]) -> str:
    return " AND ".join(map(expression_text, exprs))


def _filters(member: Member) -> str:
    return f" and {_text(member.occurrence.predicates)}" if member.occurrence.predicates else ""
