"""A join compares a row by the references of its stream to others, the paper's MinRef and MaxRef (definition 4.2).

A row of a stream joins a *box*: for each reference, the other attribute is at least, or at most, so far from the
row's own. A family of rows in which each has a partner that joins no other row of the family is what memory must hold
without duplicates (lemma A.3). This file counts how large such families can get; it is where lemma A.6 is, for
integers and dense domains, with differences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.effort import spend
from penstock.register.arithmetic.closure import WHOLE, ZERO, Apart, Closure, Limit
from penstock.register.arithmetic.query import Comparison


@dataclass(frozen=True, slots=True)
class JoinReference:
    """`high - low <= limit`, where just one of the two is of the stream in question, its `own`."""

    high: int
    low: int
    own: int
    limit: int
    comparison: Comparison

    @property
    def other(self) -> int:
        return self.low if self.own == self.high else self.high

    @property
    def is_lower(self) -> bool:
        """The own attribute limits the other from below: the less it is, the more a row joins."""
        return self.own == self.high


def references(closure: Closure, stream: str, fixed: frozenset[int] = frozenset()) -> list[JoinReference]:
    """Find the references of a stream to other streams, but for those of `fixed` attributes.

    The closure's limit is taken: a pair of rows that exceeds it is as little an answer as one that exceeds the
    comparison's own.
    """
    found: dict[tuple[int, int], JoinReference] = {}
    spend(1 + len(closure.uppers))
    for upper in closure.uppers:
        own = own_node(closure, stream, upper.left, upper.right)
        limit = closure.matrix[upper.left][upper.right]
        if own is not None and own not in fixed and limit is not None:
            found.setdefault(
                (upper.left, upper.right), JoinReference(upper.left, upper.right, own, limit, upper.comparison)
            )
    return list(found.values())


def avoided(closure: Closure, stream: str, fixed: frozenset[int] = frozenset()) -> list[tuple[int, Apart]]:
    """Find the `<>` of a stream to other streams, each with the stream's own attribute."""
    pairs = [(own_node(closure, stream, apart.left, apart.right), apart) for apart in closure.aparts]
    return [(own, apart) for own, apart in pairs if own is not None and own not in fixed]


def own_node(closure: Closure, stream: str, left: int, right: int) -> int | None:
    """Pick the one of two nodes that is of the stream, if the other is of another stream."""
    if ZERO in (left, right):
        return None
    mine = [closure.attributes[node - 1].stream == stream for node in (left, right)]
    return None if mine[0] == mine[1] else left if mine[0] else right


def slack(closure: Closure, reference: JoinReference) -> Limit:
    """Measure how far the constants alone let the two values come too close; None if any distance.

    If it is not positive, constants imply the comparison: it is *redundant* (definition 3.1, which forgets that an
    attribute may be equal to a constant; that case is in here).
    """
    above, below = closure.above(reference.high), closure.below(reference.low)
    return None if above is None or below is None else above + below - reference.limit


def read_values(closure: Closure, reference: JoinReference) -> int | None:
    """Count the limits that the own attribute can set to the other beyond the constant one; None if infinitely many."""
    return steps_within(slack(closure, reference), step(closure, reference))


def steps_within(room: Limit, size: int) -> int | None:
    """Count the steps that fit in a range; None for infinitesimal steps in a range that is not itself infinitesimal."""
    if room is None or (size < WHOLE // 2 <= room):
        return None
    return max(room, 0) // size


def step(closure: Closure, reference: JoinReference) -> int:
    return min(closure.steps[reference.high], closure.steps[reference.low])


def family(closure: Closure, first: JoinReference, second: JoinReference) -> int | None:
    """Give the size of the largest family whose rows exclude each other by these two references; None if there is none.

    Number the family so that a row and the partner of a later row break the first reference, and a row and the
    partner of an earlier row the second: any family that uses just two references can be so numbered. Its members are
    copies of the query's attributes, and what is asked of them are differences again, so it exists unless there is a
    negative cycle. Each round trip that could be one is examined here; walking through more members makes it shorter
    by a step per member.
    """
    spend(2)
    one, two = step(closure, first), step(closure, second)
    limits = [read_values(closure, first), read_values(closure, second)]
    there, back = closure.matrix[first.high][second.low], closure.matrix[second.high][first.low]
    both = first.limit + second.limit
    if first.is_lower == second.is_lower:
        around = None if there is None or back is None else there + back - both
        limits.append(steps_within(around, one + two))
    else:
        limits.extend(_one_way(closure, (first, second), (there, back)))
    known = [limit for limit in limits if limit is not None]
    return 1 + min(known) if known else None


def _one_way(
    closure: Closure, pair: tuple[JoinReference, JoinReference], across: tuple[Limit, Limit]
) -> list[int | None]:
    """With one reference of each kind all steps go to earlier members, so a round trip passes through 0."""
    (first, second), (there, back) = pair, across
    sizes = sorted((step(closure, first), step(closure, second)))
    trips = [
        _sum(closure.below(first.low), there, closure.above(second.high), -first.limit - second.limit),
        _sum(closure.below(second.low), back, closure.above(first.high), -first.limit - second.limit),
    ]
    limits = [_at_least_one(None if trip is None else steps_within(trip - sizes[0], sizes[1])) for trip in trips]
    loop = _sum(there, back, -first.limit - second.limit)
    if (
        loop is not None and loop < -WHOLE // 2
    ):  # each turn from one to the other and back gains, so many turns gain much
        every = [trip for trip in (*trips, slack(closure, first), slack(closure, second)) if trip is not None]
        limits.extend(2 * (max(trip, 0) // -loop) + 3 for trip in every)
    return limits


def _at_least_one(steps: int | None) -> int | None:
    """A trip over both references has two steps at least, so it says nothing of a family of two."""
    return None if steps is None else 1 + steps


def _sum(*limits: Limit) -> Limit:
    return None if None in limits else sum(limit for limit in limits if limit is not None)


def largest_family(closure: Closure, found: Sequence[JoinReference], apart: int) -> int | None:
    """Give a size that no family of rows exceeds, with these references and so many `<>`; None if there is none.

    That two rows exclude each other by a given pair of references is a strict partial order. In each of these orders
    give a row the length of the longest chain that ends in it: two rows of a family differ in some order, so there
    are at most as many as the product of the longest chains.

    `<>` multiplies. Cover the boxes with T rows; what is not covered lies where one of them meets one of its k holes,
    and there one `<>` less is left: f(k) = T + T k f(k - 1). For T = 1 the rows are nested, and Bollobás' theorem on
    pairs of sets gives 2^k.
    """
    product = 1
    telling = [reference for reference in found if read_values(closure, reference) != 0]
    for number, first in enumerate(telling):
        for second in telling[number + 1 :]:
            length = family(closure, first, second)
            if length is None:
                return None
            product *= length
    if product == 1:
        return 1 << apart
    size = product
    for holes in range(1, apart + 1):
        size = product + product * holes * size
    return size


def pairs_without_end(closure: Closure, found: Sequence[JoinReference]) -> tuple[JoinReference, JoinReference] | None:
    """Find two references that let a family grow without end, if there are any."""
    endless = [reference for reference in found if read_values(closure, reference) is None]
    for number, first in enumerate(endless):
        for second in endless[number + 1 :]:
            if family(closure, first, second) is None:
                return first, second
    return None
