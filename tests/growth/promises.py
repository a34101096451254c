"""Which queries promise to stay flat, and a run of one of them over the process of this room."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial

import pyarrow as pa

from penstock.register import Verdict, check_query
from penstock.sql import Script, bind_text
from tests.engines.comparing import table
from tests.growth.measuring import Batches, Growth, run_growth, steps_of
from tests.growth.process import EPOCH, TABLE, Data, Declaration, Nulls, data, ddl

#: A run of N rows, some 1,500, is in the first 80 epochs; one of 4 N rows takes all.
EPOCHS = 320
#: Epochs per step: rows are forgotten between steps, so there are twenty. More take longer, and show no more.
STEP = 16


def bound(chosen: Sequence[Declaration], select: str, views: Sequence[str] = ()) -> Script:
    return bind_text("\n".join([ddl(chosen), *views, f"CREATE QUERY q AS {select};"])).checked()


def verdict_of(script: Script) -> Verdict:
    return check_query(script.queries[0], script.catalog)


def is_promised(verdict: Verdict, nulls: Nulls = Nulls.NONE) -> bool:
    """Whether `check` calls a query safe, and warns of nothing that may make it grow over data with such NULLs."""
    is_seen = not any(state.unseen for state in verdict.states)
    awaits = nulls is Nulls.OPEN and any(state.awaiting_null for state in verdict.states)
    return verdict.safe and not verdict.empty and is_seen and not awaits


def growth_of(script: Script, nulls: Nulls, cells: int, *, small: bool = True) -> list[Growth]:
    """What grows in a run over the process with such NULLs."""
    return growth_over(script, partial(_steps, nulls), cells, small=small)


def growth_over(
    script: Script,
    steps: Callable[[int], Sequence[Batches]],
    cells: int,
    tables: Mapping[str, pa.Table] | None = None,
    *,
    small: bool = True,
) -> list[Growth]:
    """What grows in a run. Where it could be chance, a run that is four times as long decides."""
    tables = tables or {definition.name: table(definition, TABLE) for definition in script.catalog.tables}
    grown = run_growth(script, steps(EPOCHS), tables, cells, small=small)
    if not grown or any(each.is_sure for each in grown):
        return grown
    confirmed = run_growth(script, steps(4 * EPOCHS), tables, cells, small=small, longer=4)
    return [each for each in confirmed if each.what in {suspected.what for suspected in grown}]


def steps_over(rows: Data) -> Sequence[Batches]:
    """The steps of other rows of the same streams."""
    return steps_of(bind_text(ddl(())).checked().catalog.streams, rows, STEP * EPOCH)


@cache
def _steps(nulls: Nulls, epochs: int) -> Sequence[Batches]:
    return steps_over(data(epochs, nulls))
