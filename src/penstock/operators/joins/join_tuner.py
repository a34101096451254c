"""What replaces the choice of a join while it runs, as the join and its machine see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from penstock.operators.joins.mjoin import JoinCore


class JoinTuner(Protocol):
    """Replaces the choice of a join as rows come."""

    def adopt(self, join: JoinCore) -> None:
        """Is called with a join that was just built, whose choice is the one of its state, if it has some."""

    def between(self, join: JoinCore) -> None:
        """Is called between two parts of a step."""


class CacheTuner(JoinTuner, Protocol):
    """Replaces the subresult caches of a join as rows come."""

    def report(self) -> tuple[dict[str, Any], ...]:
        """Returns the decisions that are new since the last call, as JSON."""
