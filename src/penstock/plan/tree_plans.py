"""The plans of a join, as `penstock explain --plans` lists them: trees with their costs and bounds (004, 5.2).

A tree is safe if each of its joins is: subresults, which are kept as well, have to go. The register judges each tree as
it would judge a query whose joins are that tree, so what is listed is what would run. A tree with an unsafe subresult
in it is not judged again. Only safe trees are ever chosen, however little they cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.algebra.join_trees import JoinTree, TreeJoin, TreeLeaf, flat, in_order, nodes
from penstock.algebra.named_joins import joins_of, named_alike
from penstock.algebra.printing import Json
from penstock.algebra.relations import Join, Query, StreamKind, ToStream
from penstock.algebra.rewrites import normalise
from penstock.catalog import Catalog
from penstock.closing.join_trees import input_scope
from penstock.effort import answering, nesting
from penstock.elimination.running import planned, running
from penstock.plan.join_statistics import NOTHING_GIVEN, JoinStatistics
from penstock.plan.join_trees import MOST_INPUTS, join_trees
from penstock.plan.tree_cost import CostModel, TreeCost, cheapest
from penstock.register import check_query

#: So many trees of a join are judged, cheapest first; those with an unsafe subresult do not count.
MOST_JUDGED = 40
#: So many safe plans are printed, and as many that are not.
MOST_PRINTED = 10


@dataclass(frozen=True, slots=True)
class TreePlan:
    """One way to run a join."""

    tree: TreeJoin
    cost: TreeCost
    #: The bound of the query's state if it runs like this, in words; why it is not safe, if it is not.
    bound: str
    safe: bool
    runs: bool = False

    def json(self) -> dict[str, Json]:
        return {
            "tree": str(self.tree),
            "cost": round(self.cost.work),
            "rows": round(self.cost.rows),
            "safe": self.safe,
            "bound" if self.safe else "reason": self.bound,
            "runs": self.runs,
        }


@dataclass(frozen=True, slots=True)
class JoinPlans:
    """The plans of one join: first the safe ones, each cheapest first."""

    inputs: tuple[str, ...]
    plans: tuple[TreePlan, ...]
    #: Dearer trees, which nobody asked about.
    unjudged: int = 0

    @property
    def cheapest(self) -> TreePlan | None:
        """The cheapest safe plan."""
        return self.plans[0] if self.plans and self.plans[0].safe else None

    def lines(self) -> list[str]:
        """The plans as a table."""
        safe = [plan for plan in self.plans if plan.safe]
        unsafe = [plan for plan in self.plans if not plan.safe]
        shown = [*_first(safe), *_first(unsafe)]
        lines = [f"plans of {', '.join(self.inputs)}: safe ones first, by cost in probes per second", *_table(shown)]
        left = len(safe) + len(unsafe) - len(shown)
        if left or self.unjudged:
            lines.append(f"  and {left + self.unjudged:,} more, of which {self.unjudged:,} were not judged")
        if len(self.inputs) > MOST_INPUTS:
            lines.append(f"  of more than {MOST_INPUTS} inputs no other trees are listed")
        return lines

    def json(self) -> dict[str, Json]:
        inputs: list[Json] = list(self.inputs)
        return {"inputs": inputs, "trees": [each.json() for each in self.plans], "unjudged": self.unjudged}


def _first(plans: Sequence[TreePlan]) -> list[TreePlan]:
    """The first of some plans, and the one that runs."""
    return [plan for number, plan in enumerate(plans) if number < MOST_PRINTED or plan.runs]


def _table(plans: Sequence[TreePlan]) -> list[str]:
    """A line per plan: its cost, the rows that it keeps, its tree, and its bound."""
    rows = [(f"{each.cost.work:,.0f}", f"{each.cost.rows:,.0f} rows", str(each.tree)) for each in plans]
    cost, kept, tree = (max((len(row[n]) for row in rows), default=0) for n in range(3))
    lines = []
    for each, row in zip(plans, rows, strict=True):
        mark = "*" if each.runs else " "
        said = each.bound if each.safe else f"not safe: {each.bound}"
        lines.append(f"{mark} {row[0]:>{cost}}  {row[1]:>{kept}}  {row[2]:<{tree}}  {said}")
    return lines


@nesting
def plans_of(query: Query, catalog: Catalog, given: JoinStatistics = NOTHING_GIVEN) -> tuple[JoinPlans, ...]:
    """The plans of each join of a query that has a choice of them: of three inputs or more."""
    with answering():
        runs = running(replace(query, trees=()), catalog)
        if runs.counts is not None:
            return ()
        whole = normalise(runs.query)
        joins = joins_of(whole.relation)
    found = (_plans(names, join, whole, catalog, given, query) for names, join in joins.items() if len(names) > 2)
    return tuple(found)


def _plans(
    names: tuple[str, ...], join: Join, whole: Query, catalog: Catalog, given: JoinStatistics, query: Query
) -> JoinPlans:
    judge = _Judge(names, join, replace(whole, trees=query.trees), catalog)
    with answering():
        model = CostModel(join, catalog, given, emits_once=_emits_once(whole))
        trees = dict.fromkeys(join_trees(join))
        costed = cheapest(trees | {judge.runs: None}, model)
    judged, unjudged = list[TreePlan](), 0
    for tree, cost in costed:
        reason = judge.known_unsafe(tree)
        if reason is not None:
            judged.append(TreePlan(tree, cost, reason, safe=False, runs=tree == judge.runs))
        elif judge.verdicts < MOST_JUDGED or tree == judge.runs or tree.is_flat:
            bound, safe = judge.judged(tree)
            judged.append(TreePlan(tree, cost, bound, safe, tree == judge.runs))
        else:
            unjudged += 1
    return JoinPlans(names, tuple(sorted(judged, key=lambda plan: not plan.safe)), unjudged)


def _emits_once(query: Query) -> bool:
    return isinstance(query.root, ToStream) and query.root.kind is StreamKind.ISTREAM


class _Judge:
    """Says of trees of one join whether they are safe; other joins of the query stay what they are."""

    def __init__(self, names: tuple[str, ...], join: Join, query: Query, catalog: Catalog) -> None:
        self._query, self._catalog = query, catalog
        self._scopes = {name: input_scope(each) for name, each in zip(names, join.operands, strict=True)}
        pinned = next((found for tree in query.trees if (found := named_alike(tree, names)) is not None), None)
        #: The tree by which the join runs.
        self.runs = in_order(pinned, names) if isinstance(pinned, TreeJoin) else flat(names)
        self._unsafe: dict[TreeJoin, str] = {}
        #: How many trees were judged.
        self.verdicts = 0

    def known_unsafe(self, tree: TreeJoin) -> str | None:
        """Why a tree is not safe, if a subresult in it is known not to be."""
        return next((self._unsafe[node] for node in nodes(tree) if node in self._unsafe), None)

    def judged(self, tree: TreeJoin) -> tuple[str, bool]:
        """The bound of a tree, or why it is not safe: the lowest of its joins that keeps rows without end."""
        self.verdicts += 1
        verdict = check_query(planned(replace(self._query, trees=(tree, *self._query.trees))), self._catalog)
        if verdict.safe:
            return verdict.message.removeprefix("safe, "), True
        for node in nodes(tree):
            own = {self._scope(each) for each in node.inputs}
            growing = (state.because for state in verdict.unbounded if (state.stream or state.scope) in own)
            if (reason := next(growing, None)) is not None:
                return self._unsafe.setdefault(node, reason), False
        return verdict.unbounded[0].because, False

    def _scope(self, tree: JoinTree) -> str:
        """What the register calls an input of a node."""
        if isinstance(tree, TreeLeaf):
            return self._scopes[tree.stream]
        return f"({' ⋈ '.join(map(self._scope, tree.inputs))})"
