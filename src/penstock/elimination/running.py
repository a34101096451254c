"""A query as it runs: without joins that change nothing, and where it may be approximate, with counters for joins.

The plan, every verdict and `explain` read this one value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from penstock.algebra.bucket_counts import SLOTS, BucketCounts
from penstock.algebra.join_trees import parsed
from penstock.algebra.link_monitor import MOST_WATCHED, LinkMonitor
from penstock.algebra.named_joins import no_join_of
from penstock.algebra.printing import expression_text
from penstock.algebra.relations import AntiJoin, Query, SemiJoin, StreamKind, ToStream, walk_relations
from penstock.algebra.rewrites import normalise
from penstock.catalog import Catalog
from penstock.closing.bounds import Bound, BoundKind, entries
from penstock.closing.join_trees import in_trees
from penstock.closing.proof import Proof
from penstock.effort import limit
from penstock.elimination.counting import Counting, counting, counts_of
from penstock.elimination.occurrences import Elimination
from penstock.elimination.rules import eliminated
from penstock.elimination.watching import monitors_of
from penstock.errors import Origin, PenstockError
from penstock.register.advice import Advice
from penstock.register.states import State, StatefulOperator, Theory
from penstock.register.verdict import Verdict, check_query

#: How APPROXIMATE queries run: as they say, by exact joins, or by counters even where WITHIN asks for more.
PLANS = ("exact", "approximate")


@dataclass(frozen=True, slots=True)
class Running:
    """A query, what runs instead of it, and why that may."""

    query: Query
    eliminations: tuple[Elimination, ...] = ()
    counting: Counting | None = None
    #: What watches the assertions that eliminations lean on; counters have monitors of their own.
    monitors: tuple[LinkMonitor, ...] = ()

    @property
    def counts(self) -> BucketCounts | None:
        """Its counters, if it has them instead of joins."""
        return counts_of(self.query.relation)

    @property
    def shown(self) -> Query:
        """The query as `explain` draws it."""
        return self.query if self.counts is not None else normalise(self.query, for_readers=True)

    def lines(self) -> list[str]:
        """What `explain` says of joins that do not run."""
        left_out = [f"left out: {each}" for each in self.eliminations]
        left_out += [f"watched on one key in {each.one_in}: {each.promises[0]}" for each in self.monitors]
        return left_out if self.counting is None else [*left_out, *self.counting.lines()]


def running(query: Query, catalog: Catalog) -> Running:
    """The query as it runs."""
    counted = counting(query, catalog)
    if counted is not None and counted.relation is not None and counts_of(counted.relation) is not None:
        return Running(counted.running, (), counted)
    without, eliminations = eliminated(query if counted is None else counted.running, catalog)
    if counted is not None:
        _refuse_uncounted(without, counted)
    without = planned(without)
    return Running(without, eliminations, counted, monitors_of(eliminations, query.watched_one_in, catalog))


def planned(query: Query) -> Query:
    """The query with its joins as the trees that it names, in normal form; as it is, if it names none."""
    if not query.trees:
        return query
    normal = normalise(query)
    relation = in_trees(normal.relation, query.trees)
    root = replace(normal.root, input=relation) if isinstance(normal.root, ToStream) else relation
    return replace(normal, root=root, trees=())


def verdict_of(query: Query, catalog: Catalog, origin: Origin | None = None) -> Verdict:
    """Is the state of a query bounded, as it runs?"""
    runs = running(query, catalog)
    counts = runs.counts
    if counts is None or runs.counting is None:
        verdict = _of_plan(query, check_query(runs.query, catalog, origin), catalog, origin)
        watching = [state for each in runs.monitors for state in _monitor_states(1, each.child.schema[0].scope)]
        return replace(verdict, states=(*verdict.states, *watching))
    states = tuple(_states(counts, runs.counting))
    beside = runs.counting.exact or runs.counting.groups
    if beside is not None:
        exact = check_query(beside, catalog, origin)
        return replace(exact, query=runs.query, states=(*states, *exact.states))
    return Verdict(runs.query, catalog, states, origin, effort=limit())


def _of_plan(query: Query, verdict: Verdict, catalog: Catalog, origin: Origin | None) -> Verdict:
    """The verdict on a query with trees of joins. Where these are not safe, whether the query is without them.

    A subresult that is kept without end is a fault of the plan: no witness shows that each plan needs as much memory.
    """
    if not query.trees or verdict.safe or verdict.unanswered is not None:
        return verdict
    without = verdict_of(replace(query, trees=()), catalog, origin)
    if not without.safe:
        return without
    plan = " and ".join(map(str, query.trees))
    claim = f"by the plan {plan}, {{}}; without that plan it is safe"
    states = tuple(
        state
        if state.is_safe
        else replace(state, is_shortfall=True, proof=replace(state.proof, claim=claim.format(state.because)))
        for state in verdict.states
    )
    return replace(verdict, states=states, advise=lambda *_: Advice())


def with_join_plan(queries: Sequence[Query], text: str | None) -> list[Query]:
    """The queries, of which those with such a join are run by a tree that a text gives, instead of their own."""
    if text is None:
        return list(queries)
    try:
        tree = parsed(text)
    except ValueError as reason:
        raise PenstockError(f"{text} is no tree of joins: {reason}", "write it as ((a b) c)") from reason
    faults = [no_join_of(tree, query) for query in queries]
    if None not in faults:
        raise PenstockError(*next(fault for fault in faults if fault is not None))
    pairs = zip(queries, faults, strict=True)
    return [replace(query, trees=(tree,)) if fault is None else query for query, fault in pairs]


def with_plan(query: Query, plan: str | None, one_in: int | None = None) -> Query:
    """The query, to be run by one of `PLANS` if it is APPROXIMATE, or as it says; one key in so many is watched."""
    if one_in is not None:
        query = replace(query, watched_one_in=one_in)
    if query.approximate is None or plan is None:
        return query
    return replace(query, approximate=None if plan == "exact" else replace(query.approximate, within=None))


def _states(counts: BucketCounts, counted: Counting) -> Iterator[State]:
    """Counters of two buckets and tables of monitors: how many rows come does not matter."""
    words = (len(counts.counted) * (2 * SLOTS + 5) + 4) * 3
    others = [expression_text(key) for key in counts.further_keys]
    if others:
        bound = Bound(BoundKind.WINDOW, f"{words} counters for each value of {', '.join(others)} in two buckets")
    else:
        bound = entries(words, "counter")
    claim = "rows are counted by bucket, and nothing is kept of a bucket that changes no more"
    proof = Proof(claim, "001, 4.4, with certified intervals", counted.leans_on)
    scope = counts.schema[0].scope
    yield State(StatefulOperator.GROUP_BY, None, bound, Theory.WINDOWS, proof, scope)
    if counted.groups is not None:
        kept = Bound(BoundKind.WINDOW, f"the row of each group of {counts.ring + 1} buckets, as it may be marked")
        held = Proof("nothing is kept of a group that can be marked no more")
        yield State(StatefulOperator.GROUP_BY, None, kept, Theory.WINDOWS, held, scope)
    yield from _monitor_states(len(counts.monitors), scope)


def _monitor_states(monitors: int, scope: str) -> Iterator[State]:
    if monitors:
        watched = entries(monitors * MOST_WATCHED, "watched row")
        held = Proof("a table of fixed size has the last rows of a sample of keys")
        yield State(StatefulOperator.GROUP_BY, None, watched, Theory.WINDOWS, held, scope)


def _refuse_uncounted(query: Query, counted: Counting) -> None:
    """EMIT ON CLOSE over an anti-join is allowed for the sake of counters: without them its groups never close."""
    is_closing = isinstance(query.root, ToStream) and query.root.kind is StreamKind.ON_CLOSE
    if is_closing and any(isinstance(node, SemiJoin | AntiJoin) for node in walk_relations(query.relation)):
        raise PenstockError(
            f"{query.name}: EMIT ON CLOSE gives groups of an anti-join only if they are counted: {counted.reason}",
            "leave EMIT ON CLOSE out, or declare what is missing; penstock prove --query shows what is known",
        )
