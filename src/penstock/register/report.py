"""Verdicts for people and for programs: messages that point at the text, and JSON (design section 7)."""

from __future__ import annotations

from penstock.algebra.copies import written
from penstock.algebra.printing import Json
from penstock.closing.evidence import REMEMBERED
from penstock.errors import Origin, SqlError
from penstock.register.edits import runnable
from penstock.register.states import State, StatefulOperator
from penstock.register.steps import Action
from penstock.register.verdict import Verdict


def verdict_text(verdict: Verdict, explain: bool = False) -> str:
    """One line for a safe query; for others each piece of state that may grow, why, and what would help."""
    if verdict.safe:
        lines = [f"{verdict.name}: {verdict.message}"]
    else:
        allowed = ", but allowed" if verdict.allowed else ""
        lines = [f"{verdict.name}: not safe{allowed}", *(_pointed(state, verdict.origin) for state in _first(verdict))]
        if verdict.hint is not None:
            lines.append(f"{'why' if verdict.unanswered is None else 'hint'}: {verdict.hint}")
        lines += _advice(verdict)
    if explain:
        lines += [f"  {line}" for line in verdict.explanation().splitlines()]
        if verdict.step is not None:
            lines.append(f"  a step holds {verdict.step.words}")
    return "\n".join(lines)


def verdict_json(verdict: Verdict) -> dict[str, Json]:
    actions: list[Json] = [list(statements) for statements in action_texts(verdict)]
    return {
        "name": verdict.name,
        "safe": verdict.safe,
        "state": [_state_json(state) for state in verdict.shown],
        "actions": actions,
        "message": verdict.message,
        "hint": verdict.hint,
        "guards": [{"declaration": lean, "remembers": REMEMBERED} for lean in verdict.guards],
        "step": None if verdict.step is None else verdict.step.json(),
        "warnings": list(verdict.warnings),
    }


def action_texts(verdict: Verdict) -> tuple[tuple[str, ...], ...]:
    """The statements of each action."""
    return tuple(runnable(action, verdict.query, verdict.origin) for action in verdict.actions)


def _first(verdict: Verdict) -> list[State]:
    """One piece of state for each place: what piles up below often piles up above as well."""
    by_place = {_place(state, verdict.origin): state for state in reversed(verdict.unbounded)}
    return sorted(by_place.values(), key=verdict.unbounded.index)


def _place(state: State, origin: Origin | None) -> object:
    return origin.places.scopes.get(written(state.scope)) if origin is not None else state.because


def _pointed(state: State, origin: Origin | None) -> str:
    """What is wrong, with the piece of SQL underlined that holds the state."""
    if origin is None:
        return written(state.because)
    whole = origin.places.query
    span = whole if state.operator is StatefulOperator.QUERY else origin.places.scopes.get(written(state.scope), whole)
    return str(SqlError(written(state.because), None, origin.source, span))


#: What is said where the search for advice has ended without any.
_NO_ADVICE = (
    "what would make it safe was not found within the work that advice may take: raise --effort, or check it alone"
)


def _advice(verdict: Verdict) -> list[str]:
    if not verdict.actions:
        is_known = verdict.advice.complete or verdict.unanswered is not None
        return [] if is_known else [_NO_ADVICE]
    lines = ["any of these would make it safe:"]
    for number, action in enumerate(verdict.actions, start=1):
        first, *rest = _shown(action)
        lead = f"  {number}. "
        lines += [lead + first, *(" " * len(lead) + line for line in rest)]
    return lines if verdict.advice.rest is None else [*lines, f"  {verdict.advice.rest}"]


def _shown(action: Action) -> list[str]:
    """The steps, short: a change of the query as the piece that changes."""
    return [step.text for step in action.steps]


def _state_json(state: State) -> dict[str, Json]:
    leans_on: list[Json] = list(state.leans_on)
    return {
        "operator": state.operator.value,
        "stream": state.stream,
        "bound": state.bound.kind.value,
        "size": state.bound.size,
        "because": state.because,
        "leans_on": leans_on,
        "by": state.by.value,
        "words": state.bound.words if state.is_safe else None,
    }
