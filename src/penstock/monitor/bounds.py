"""Proven bounds beside live values: which operators of a run hold the state that a verdict speaks of.

A verdict speaks of occurrences of streams and of logical operators, metrics of the operators of fragments. Rows of an
occurrence are held by its scan, other state by the operator that computes or joins the rows. This is the one place
where they are matched: SysStream, `penstock top`, Prometheus and the page all show the same value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.algebra.physical import Scan
from penstock.algebra.relations import Aggregate, Distinct, Relation, Schema, SetOp, walk_relations
from penstock.closing.bounds import MOST, Bound, plus
from penstock.closing.join_trees import input_scope
from penstock.closing.physical_join import PhysicalJoin
from penstock.plan.explain import operator_name
from penstock.plan.fragments import Fragment, Plan
from penstock.register import Verdict
from penstock.register.states import State, StatefulOperator

#: An operator of a query, as metrics name it: its fragment, and its name there.
Place = tuple[int | None, str]


@dataclass(frozen=True, slots=True)
class HeldState:
    """A piece of state that an operator holds, and in how many cells each of its rows may be kept."""

    state: State
    copies: int

    @property
    def size(self) -> int | None:
        """Returns the rows that all cells keep at most, where that is a number."""
        size = self.state.bound.size
        return size * self.copies if size is not None and size < MOST else None


@dataclass(frozen=True, slots=True)
class LiveBound:
    """What was proved of the state that one operator of a run holds."""

    held: tuple[HeldState, ...]

    @property
    def bound(self) -> Bound:
        """Returns what each cell keeps at most."""
        return plus(each.state.bound for each in self.held)

    @property
    def words(self) -> str:
        return self.bound.words

    @property
    def because(self) -> str:
        return "; ".join(dict.fromkeys(each.state.because for each in self.held))

    @property
    def cell_size(self) -> int | None:
        """Returns the rows that each cell keeps at most, where that is a number."""
        size = self.bound.size
        return size if size is not None and size < MOST else None

    @property
    def size(self) -> int | None:
        """Returns the rows that all cells together keep at most, where that is a number."""
        sizes = [each.size for each in self.held]
        return sum(size for size in sizes if size is not None) if None not in sizes else None


#: The bounds of a query by operator, and those of all queries of a run by name.
QueryBounds = Mapping[Place, LiveBound]
Bounds = Mapping[str, QueryBounds]


def live_bounds(verdict: Verdict, plan: Plan) -> QueryBounds:
    """Returns the bounds of a verdict by the operators of the plan that hold the state."""
    held: dict[Place, list[HeldState]] = {}
    for fragment in plan.fragments:
        for state in verdict.states:
            place = _operator(plan, fragment, state)
            if place is not None:
                held.setdefault(place, []).append(HeldState(state, _copies(fragment, state)))
    return {place: LiveBound(tuple(pieces)) for place, pieces in held.items()}


def _operator(plan: Plan, fragment: Fragment, state: State) -> Place | None:
    """Returns the operator of a fragment that holds a piece of state; of several alike the one nearest to the root."""
    for number, node in enumerate(walk_relations(fragment.root)):
        if _holds(node, state) or (state.operator is StatefulOperator.RSTREAM and node is plan.last.root):
            return fragment.number, operator_name(node, number)
    return None


def _holds(node: Relation, state: State) -> bool:
    """Returns whether an operator holds a piece of state: rows of a stream are in the window of its occurrence."""
    if state.stream is not None:
        return isinstance(node, Scan) and node.stream.occurrence == state.stream
    match state.operator, node:
        case (StatefulOperator.GROUP_BY | StatefulOperator.AGGREGATE_VALUES, Aggregate()):
            return _scope(node.schema) == state.scope
        case (StatefulOperator.DISTINCT, Distinct()):
            return _scope(node.schema) == state.scope
        case (StatefulOperator.SET_OPERATION, SetOp()):
            return _scope(node.columns) == state.scope
        case (StatefulOperator.JOIN | StatefulOperator.SEMI_JOIN | StatefulOperator.ANTI_JOIN, PhysicalJoin()):
            own = (input_scope(operand) == state.scope for operand in node.operands)
            return any(own) or any(column.scope == state.scope for each in node.operands for column in each.schema)
    return False


def _scope(columns: Schema) -> str:
    """Returns what the columns of an operator are of; an operator may have none, as under EXISTS."""
    return columns[0].scope if columns else ""


def _copies(fragment: Fragment, state: State) -> int:
    """Returns in how many cells what is counted once in a bound may be kept."""
    routes = [r for r in fragment.routes if isinstance(r.leaf, Scan) and r.leaf.stream.occurrence == state.stream]
    if routes:
        return max(fragment.replication(route) for route in routes)
    is_joined = state.operator in (StatefulOperator.JOIN, StatefulOperator.SEMI_JOIN, StatefulOperator.ANTI_JOIN)
    return fragment.cells if state.stream is None and is_joined else 1
