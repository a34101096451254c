"""Counting instead of joining: COUNT of joins and anti-joins by bucket of time as arithmetic on counters (001, 4.4).

Every joined row has one row in each stream above it in a chain of inclusions, so the pairs are the rows of the last
stream of each chain, and anti-joins take away the rows of theirs. What is left to bound is which of them belong to rows
of the bucket stream on the other side of a boundary: `operators/groups/bucket_counts.py` certifies that. Streams that
each row of the bucket stream has one row in before it say nothing, and are not read; if there are no others, the
query is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from penstock.algebra.bucket_counts import (
    WIDE,
    BucketCounts,
    CertifiedGroups,
    FallBack,
    TimeBuckets,
    Within,
    result_columns,
)
from penstock.algebra.expressions import Column, Expr, columns
from penstock.algebra.functions import AggregateFunction
from penstock.algebra.printing import expression_text
from penstock.algebra.relations import (
    Aggregate,
    Output,
    Project,
    Query,
    Relation,
    Select,
    StreamKind,
    ToStream,
    Window,
    walk_relations,
)
from penstock.algebra.rewrites import normalise
from penstock.catalog import Catalog
from penstock.effort import OutOfEffort, answering, nesting
from penstock.elimination.counting.chain import Chain
from penstock.elimination.counting.inclusions import Shown
from penstock.elimination.counting.join_tree import NotCounted, join_tree, require_bucket, sliding
from penstock.elimination.counting.time_buckets import time_buckets
from penstock.types import BOOLEAN, Kind


@dataclass(frozen=True, slots=True)
class Counting:
    """A query that counts instead of joining, or why it does not."""

    query: Query
    #: What runs instead; None where the query runs as it is.
    relation: Relation | None
    #: What was proved for that, link by link.
    shown: tuple[Shown, ...] = ()
    #: Why it runs as it is.
    reason: str | None = None

    @property
    def running(self) -> Query:
        """The query as it runs."""
        if self.relation is None:
            return self.query
        root = self.query.root
        return replace(
            self.query, root=replace(root, input=self.relation) if isinstance(root, ToStream) else self.relation
        )

    @property
    def is_exact(self) -> bool:
        """Whether what runs instead gives the exact counts."""
        counts = None if self.relation is None else counts_of(self.relation)
        return counts is None or not counts.counted

    @property
    def exact(self) -> Query | None:
        """The query that runs from some bucket on, if intervals get too wide."""
        found = () if self.relation is None else walk_relations(self.relation)
        nodes = [node for node in found if isinstance(node, FallBack)]
        return replace(self.query, root=nodes[0].exact, approximate=None) if nodes else None

    @property
    def groups(self) -> Query | None:
        """The query whose groups run beside counters, if more than counts is asked for."""
        found = () if self.relation is None else walk_relations(self.relation)
        nodes = [node for node in found if isinstance(node, CertifiedGroups)]
        return replace(self.query, root=nodes[0].groups, approximate=None) if nodes else None

    @property
    def leans_on(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for each in self.shown for name in each.leans_on))

    def lines(self) -> list[str]:
        """What `explain` says."""
        if self.relation is None:
            return [f"runs exactly: {self.reason}"]
        how = "counts one stream, exactly" if self.is_exact else "counts streams apart"
        if self.exact is not None:
            how += f", and joins from the bucket on after one whose interval is wider than {self.query.approximate}"
        return [f"{how}: {'; '.join(map(str, self.shown))}"]


def counts_of(relation: Relation) -> BucketCounts | None:
    """The bucket counts of a plan, if it has them."""
    return next((node for node in walk_relations(relation) if isinstance(node, BucketCounts)), None)


@nesting
def counting(query: Query, catalog: Catalog) -> Counting | None:
    """How an APPROXIMATE query runs; None of any other."""
    if query.approximate is None:
        return None
    try:
        with answering():
            relation, shown = _rewritten(query, catalog)
    except NotCounted as reason:
        return Counting(query, None, reason=str(reason))
    except OutOfEffort:
        return Counting(query, None, reason="the conditions were not shown within the limit of work")
    return Counting(query, relation, shown)


def _rewritten(query: Query, catalog: Catalog) -> tuple[Relation, tuple[Shown, ...]]:
    kind = query.root.kind if isinstance(query.root, ToStream) else None
    if kind is StreamKind.RSTREAM:
        raise NotCounted("RSTREAM shows all at each arrival of any stream")
    match normalise(query).relation:
        case Project(Aggregate() as groups, outputs):
            pass
        case _:
            raise NotCounted("it does more with its groups than to show them")
    refused: NotCounted | None = None
    for cut in _cuts(groups):
        try:
            return _counted_by(query, cut, groups, outputs, catalog)
        except NotCounted as reason:
            refused = refused or reason
    assert refused is not None, "without buckets there is a reason"
    raise refused


@dataclass(frozen=True, slots=True)
class _Cut:
    """What makes the buckets: the occurrence that they are of, how they are cut, and which key tells them, if one."""

    root: str
    buckets: TimeBuckets
    place: int | None


def _cuts(groups: Aggregate) -> Iterator[_Cut]:
    """What may make the buckets: windows that slide by their own length, if there are any, or a key."""
    windows = [w for w in walk_relations(groups.input) if isinstance(w, Window)]
    sliding_ = [(w.stream.occurrence, width) for w in windows if (width := sliding(w)) is not None]
    for name, width in sliding_:
        yield _Cut(name, TimeBuckets(width), None)
    if sliding_:
        return
    times = frozenset(w.stream.timestamp for w in windows)
    for number, key in enumerate(groups.keys):
        found = time_buckets(key.expr, times)
        if found is not None and key.column.type.kind in (Kind.BIGINT, Kind.TIMESTAMP):
            yield _Cut(found[0].scope, found[1], number)
            return
    for window in windows:
        require_bucket(window)
    raise NotCounted("it does not group by buckets of a stream's time, such as UNIX_SECONDS(ts) / 300")


def _counted_by(
    query: Query, cut: _Cut, groups: Aggregate, outputs: tuple[Output, ...], catalog: Catalog
) -> tuple[Relation, tuple[Shown, ...]]:
    """The query by counters in these buckets, and what was proved for that."""
    root, links = join_tree(groups.input, cut.root)
    if not links:
        raise NotCounted("it joins nothing")
    others = tuple(key.expr for number, key in enumerate(groups.keys) if number != cut.place)
    chain = Chain(root, links, others, catalog, query.watched_one_in)
    for link in sorted(links, key=lambda each: each.lower.is_anti):
        chain.take(link)
    if not chain.counted and not _counts_only(groups):
        alone = _of_one_stream(groups, chain)
        if not chain.monitors:
            return Project(alone, outputs), chain.shown
        return _watched_groups(query, cut, alone, outputs, chain), chain.shown
    _require_counts(groups)
    return _counters(query, cut, groups, outputs, chain), chain.shown


def _counters(query: Query, cut: _Cut, groups: Aggregate, outputs: tuple[Output, ...], chain: Chain) -> Relation:
    """Counters in place of the groups."""
    counted, buckets = chain.counted, cut.buckets
    longest = max((each.delay for each in counted), default=0)
    if longest > buckets.width:
        raise NotCounted(f"a bucket of {buckets.width} microseconds is shorter than a delay of {longest}")
    names = tuple(key.column for key in groups.keys)
    results = result_columns(groups.schema[0].scope)
    emits = isinstance(query.root, ToStream) and query.root.kind is StreamKind.ON_CLOSE
    scan, reach = chain.scan, chain.matches_for
    within = _within(query) if counted else None
    own = results if within is None else (*results, Column(results[0].scope, WIDE, BOOLEAN))
    if within is not None and cut.place is None:
        raise NotCounted("WITHIN is kept by the exact join, which begins with a bucket that is a key")
    counts = BucketCounts(scan, counted, buckets, cut.place, names, own, emits, tuple(chain.monitors), reach, within)
    below: Relation = counts
    if within is not None and cut.place is not None:
        chain.require_later_rows()
        after = counts.final_after if counts.emits else None
        below = FallBack(counts, _exact(groups), buckets, cut.place, results, after)
    return Project(below, _outputs(outputs, groups, results))


def _within(query: Query) -> Within | None:
    """How wide an interval may be, if the query says so."""
    allowed = query.approximate
    if allowed is None or allowed.within is None:
        return None
    return Within(int(allowed.within * 1_000_000), allowed.percent)


def _exact(groups: Aggregate) -> Aggregate:
    """The groups with one count, which is all that is asked for."""
    return replace(groups, aggregations=groups.aggregations[:1])


def _counts_only(groups: Aggregate) -> bool:
    return all(each.function is AggregateFunction.COUNT and each.argument is None for each in groups.aggregations)


def _require_counts(groups: Aggregate) -> None:
    for each in groups.aggregations:
        if each.function is not AggregateFunction.COUNT or each.argument is not None:
            text = "COUNT" if each.argument is None else f"{each.function.value}({expression_text(each.argument)})"
            raise NotCounted(f"{text} is not COUNT(*)")


def _outputs(outputs: tuple[Output, ...], groups: Aggregate, results: tuple[Column, ...]) -> tuple[Output, ...]:
    """The select list over counters: behind each count come the ends of its interval, and `_certified` is the last."""
    counts = {each.column for each in groups.aggregations}
    ends: list[Expr] = []
    shown: list[Output] = []
    for output in outputs[:-1]:
        if output.expr in counts:
            ends = ends or list(results[:3])
            shown.append(Output(output.column, ends.pop(0)))
        else:
            if columns(output.expr) & counts:
                raise NotCounted(f"{expression_text(output.expr)} computes with a count")
            shown.append(output)
    return (*shown, Output(outputs[-1].column, results[3]))


def _of_one_stream(groups: Aggregate, chain: Chain) -> Aggregate:
    """The same groups of the bucket stream alone."""
    root = chain.root
    own = set(root.occurrence.leaf.schema)
    for each in groups.aggregations:
        if each.argument is not None and not columns(each.argument) <= own:
            raise NotCounted(f"{expression_text(each.argument)} is not of {root.name}")
    predicates = root.occurrence.predicates
    below: Relation = Select(root.occurrence.leaf, predicates) if predicates else root.occurrence.leaf
    keys = tuple(replace(key, expr=chain.in_root(key.expr)) for key in groups.keys)
    return replace(groups, input=below, keys=keys)


def _watched_groups(query: Query, cut: _Cut, groups: Aggregate, outputs: tuple[Output, ...], chain: Chain) -> Relation:
    """Groups of the bucket stream alone, with what its counters say of the assertions that they lean on."""
    names = tuple(key.column for key in groups.keys)
    results = result_columns(groups.schema[0].scope)
    emits = isinstance(query.root, ToStream) and query.root.kind is StreamKind.ON_CLOSE
    own = cut.buckets, cut.place
    counts = BucketCounts(chain.scan, (), *own, names, results, emits, tuple(chain.monitors), chain.matches_for)
    zeros = tuple(each.function is AggregateFunction.COUNT for each in groups.aggregations)
    certified = CertifiedGroups(
        groups, counts, len(names), zeros, results[3], cut.place, cut.buckets, counts.final_after, emits
    )
    return Project(certified, (*outputs[:-1], Output(outputs[-1].column, results[3])))
