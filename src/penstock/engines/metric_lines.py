"""Metrics of a query as lines, which notebooks show as a table."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Any

from penstock.types import instant_text

if TYPE_CHECKING:  # it brings kernels along
    from penstock.engines.metrics import OperatorMetrics


class Metrics(list[dict[str, Any]]):
    """A list of dicts, one per step and operator, as `penstock run --metrics` writes; notebooks show the last step."""

    #: The columns that a notebook shows; all others are in the lines.
    SHOWN = ("operator", "stream", "cell", "rows_in", "rows_out", "late_rows", "state_rows", "state_bytes")

    @staticmethod
    def of(lines: Iterable[OperatorMetrics]) -> Metrics:
        """Returns what operators did as lines."""
        return Metrics(line.as_json() for line in lines)

    def _repr_html_(self) -> str:
        latest = max((line["step"] for line in self), default=None)
        if latest is None:
            return "<div>no step is complete yet</div>"
        lines = [line for line in self if line["step"] == latest]
        head = "".join(f"<th>{name}</th>" for name in self.SHOWN)
        rows = "".join(f"<tr>{''.join(_cell(line.get(name)) for name in self.SHOWN)}</tr>" for line in lines)
        title = f"step {latest}, watermark {instant_text(lines[-1]['watermark'])}"
        return f"<div>{title}</div><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _cell(value: Any) -> str:
    shown = "" if value is None else f"{value:,}" if isinstance(value, int) else escape(str(value))
    return f"<td>{shown}</td>"
