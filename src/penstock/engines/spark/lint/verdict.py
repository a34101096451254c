"""The verdict on a plain Spark query: what its operators keep, what Spark refuses, and what it gets wrong."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from penstock.algebra.printing import Json
from penstock.closing.bounds import Bound, plus
from penstock.engines.spark.lint.bounds import states
from penstock.engines.spark.lint.remedies import Remedy, remedies, together
from penstock.engines.spark.lint.stateful import Deduplication, Grouping, Key, Limit, OwnState, Stateful, StreamJoin
from penstock.register.html import actions_html, card
from penstock.register.states import State


@dataclass(frozen=True, slots=True)
class Refusal:
    """What Spark will say instead of running a query."""

    message: str
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class SparkVerdict:
    """What the lint says of a query that Spark runs."""

    name: str
    operators: tuple[Stateful, ...]
    #: The output mode that was judged; None stands for append and update, in which Spark keeps the same.
    output_mode: str | None = None
    refusal: Refusal | None = None
    #: What Spark does without a warning that the author may not expect.
    warnings: tuple[str, ...] = ()

    @property
    def safe(self) -> bool:
        return self.refusal is None and not self.unbounded

    @property
    def states(self) -> tuple[State, ...]:
        return tuple(state for operator in self.operators for state in states(operator, self._complete))

    @property
    def unbounded(self) -> tuple[State, ...]:
        return tuple(state for state in self.states if not state.is_safe)

    @property
    def bound(self) -> Bound:
        """All pieces of state together."""
        return plus(state.bound for state in self.states)

    @property
    def empty(self) -> bool:
        """Whether no row can ever satisfy the conditions of a join."""
        return any(operator.is_contradiction for operator in self.operators if isinstance(operator, StreamJoin))

    @property
    def message(self) -> str:
        """The verdict in one line."""
        if self.refusal is not None:
            return f"Spark refuses it: {self.refusal.message}"
        if self.unbounded:
            return f"not safe: {self.unbounded[0].because}"
        if self.empty:
            return "safe, but no row can ever satisfy its conditions"
        return f"safe, at most {self.bound.words}" if self.operators else "safe, it keeps nothing"

    @property
    def hint(self) -> str | None:
        """Input that makes the state grow, in words; of a query that Spark refuses, what to write instead."""
        if self.refusal is not None:
            return self.refusal.hint
        growing = next((each for each in self.operators if not all(s.is_safe for s in self._states(each))), None)
        return None if growing is None else _witness(growing)

    @property
    def actions(self) -> tuple[Remedy, ...]:
        """Sets of changes, each of which would make it safe."""
        if self.safe or self.refusal is not None:
            return ()
        growing = [each for each in self.operators if not all(state.is_safe for state in self._states(each))]
        return together(remedies(each, self._complete) for each in growing)

    def __str__(self) -> str:
        if self.refusal is not None or self.safe:
            lines = [f"{self.name}: {self.message}"]
            lines += [f"hint: {self.hint}"] if self.refusal is not None and self.hint else []
        else:
            lines = [f"{self.name}: not safe", *dict.fromkeys(state.because for state in self.unbounded)]
            lines += [f"why: {self.hint}"] if self.hint else []
            lines += self._advice()
        return "\n".join((*lines, *(f"warning: {warning}" for warning in self.warnings)))

    def _repr_html_(self) -> str:
        grows = () if self.safe or self.refusal is not None else dict.fromkeys(s.because for s in self.unbounded)
        parts = [f"<div>{escape(why, quote=False)}</div>" for why in grows]
        if self.hint and not self.safe:
            lead = "why" if self.refusal is None else "hint"
            parts.append(f"<div><b>{lead}</b>: {escape(self.hint, quote=False)}</div>")
        parts.append(actions_html(self.actions))
        parts += [f"<div><b>warning</b>: {escape(warning, quote=False)}</div>" for warning in self.warnings]
        said = self.message if self.safe or self.refusal is not None else "not safe"
        return card(self.name, said, parts, is_safe=self.safe)

    def explanation(self) -> str:
        """The proof of each bound."""
        return "\n".join(f"{s.operator.value}, {s.bound.kind.value}: {s.because}" for s in self.states)

    def to_json(self) -> dict[str, Json]:
        """Returns the verdict as `penstock check --json` writes one, with the output mode and what Spark refuses."""
        actions: list[Json] = [list(action) for action in self.actions]
        return {
            "name": self.name,
            "safe": self.safe,
            "state": [_state_json(state) for state in self.states],
            "actions": actions,
            "message": self.message,
            "hint": self.hint,
            "warnings": list(self.warnings),
            "output_mode": self.output_mode,
            "refused": None if self.refusal is None else self.refusal.message,
        }

    @property
    def _complete(self) -> bool:
        return self.output_mode == "complete"

    def _states(self, operator: Stateful) -> tuple[State, ...]:
        return states(operator, self._complete)

    def _advice(self) -> list[str]:
        lines = ["any of these would make it safe:"] if self.actions else []
        for number, action in enumerate(self.actions, start=1):
            lead = f"  {number}. "
            lines += [(lead if place == 0 else " " * len(lead)) + line for place, line in enumerate(action)]
        return lines


def _witness(operator: Stateful) -> str | None:
    match operator:
        case StreamJoin(left, right):
            side, other = (left, right) if left.cleaned is None else (right, left)
            keys = f", each with its own {side.keys[0]}" if side.keys else ""
            return (
                f"suppose N rows of {side.name} arrive{keys}: a partner of any of them may arrive next in {other.name}"
            )
        case Grouping(keys=keys, collected=collected):
            new = _new(keys)
            if new:
                return f"suppose N rows arrive, each with its own {new[0]}: the next may be like any of them"
            return f"suppose N rows arrive: {collected[0]} holds a value of each" if collected else None
        case Deduplication(keys=keys) | OwnState(keys=keys):
            new = _new(keys)
            return (
                f"suppose N rows arrive, each with its own {new[0]}: the next may be like any of them" if new else None
            )
        case Limit():
            return None


def _new(keys: tuple[Key, ...]) -> list[str]:
    """Returns the keys of which new values keep arriving, those without a time first."""
    return [
        key.name
        for key in sorted(keys, key=lambda key: key.has_watermark or "window" in key.name)
        if key.values is None
    ]


def _state_json(state: State) -> dict[str, Json]:
    return {
        "operator": state.operator.value,
        "stream": state.stream,
        "bound": state.bound.kind.value,
        "size": state.bound.size,
        "because": state.because,
        "leans_on": [],
        "by": state.by.value,
        "words": state.bound.words if state.is_safe else None,
    }
