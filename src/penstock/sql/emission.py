"""EMIT ON CLOSE: which queries may have it. Whether their groups can be proved to close is the register's question."""

from __future__ import annotations

from penstock.algebra.relations import (
    AntiJoin,
    Join,
    OuterJoin,
    Project,
    Relation,
    Select,
    SemiJoin,
    SetOp,
    SetOperator,
    StreamKind,
    Table,
    Unbounded,
    Window,
    outermost_groups,
    walk_relations,
)
from penstock.errors import Span
from penstock.sql.environment import Environment

_HINT = "it gives each group once, with its last values: SELECT ... GROUP BY ... EMIT ON CLOSE"


def check_on_close(
    relation: Relation, kind: StreamKind | None, env: Environment, place: Span, approximate: bool = False
) -> None:
    """Refuses EMIT ON CLOSE where it has no meaning. Buckets that are counted apart close, whatever is joined."""
    fail = env.diagnostics.fail
    if kind in (StreamKind.DSTREAM, StreamKind.RSTREAM):
        fail(f"EMIT ON CLOSE gives rows that only come, and {kind.value} others", f"leave {kind.value} out", place)
    found = outermost_groups(relation)
    if len(found) != 1 or not found[0].keys:
        fail("EMIT ON CLOSE is of a query that ends in GROUP BY", _HINT, place)
    (groups,) = found
    for node in walk_relations(groups.input):
        if isinstance(node, Window) and not isinstance(node.spec, Unbounded):
            hint = "leave the window out, and group by a time, such as DATE_TRUNC('HOUR', ts)"
            fail(f"the groups of a window are empty when they close: {node.stream.occurrence} has one", hint, place)
        is_union = isinstance(node, SetOp) and node.op is SetOperator.UNION and node.all
        is_counted = approximate and isinstance(node, SemiJoin | AntiJoin)
        is_plain = isinstance(node, Window | Table | Select | Project | Join | OuterJoin)
        if not (is_plain or is_union or is_counted):
            hint = "below GROUP BY there may be streams, tables, conditions, joins and UNION ALL"
            fail("EMIT ON CLOSE groups the rows of streams, of joins and of UNION ALL only", hint, place)
