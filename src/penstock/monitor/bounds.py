"""Proven bounds beside live values: which operators of a run hold the state that a verdict speaks of.

A verdict speaks of occurrences of streams and of logical operators. An operator of a run that reads an occurrence holds
its rows; others hold what the operators of their kind do.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.closing.bounds import plus
from penstock.register import Verdict
from penstock.register.states import State, StatefulOperator


@dataclass(frozen=True, slots=True)
class LiveBound:
    """What was proved of the state that some operators of a run hold together."""

    #: An occurrence of a stream, or the kind of operators, as metrics call them without their numbers.
    operator: str
    size: int | None
    words: str
    because: str
    is_safe: bool


#: What metrics call the operators that hold the state of rows that are computed.
_OPERATORS = {
    StatefulOperator.JOIN: "join",
    StatefulOperator.SEMI_JOIN: "semi-join",
    StatefulOperator.ANTI_JOIN: "anti-join",
    StatefulOperator.GROUP_BY: "aggregate",
    StatefulOperator.AGGREGATE_VALUES: "aggregate",
    StatefulOperator.DISTINCT: "distinct",
    StatefulOperator.SET_OPERATION: "setop",
}


def live_bounds(verdict: Verdict) -> tuple[LiveBound, ...]:
    """Returns the bounds of a verdict by what holds the state in a run."""
    pieces: dict[str, list[State]] = {}
    for state in verdict.states:
        operator = state.stream or _OPERATORS.get(state.holder, state.holder.value)
        pieces.setdefault(operator, []).append(state)
    found = []
    for operator, states in pieces.items():
        bound = plus(state.bound for state in states)
        reasons = dict.fromkeys(state.because for state in states)
        found.append(LiveBound(operator, bound.size, bound.words, "; ".join(reasons), bound.is_safe))
    return tuple(found)
