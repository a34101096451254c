"""What SQL has elsewhere and not here, by kind of tree: what is said of it, and what to write instead."""

from __future__ import annotations

from sqlglot import exp

from penstock.sql.syntax import Tree

NO_CLOCK = (
    "there is no clock: a result depends on the input alone",
    "compare with the stream's own time column, or use a window such as [RANGE 1 HOUR]",
)

COMPUTE_FIRST = (
    "declare a function of your own with session.function or --functions, or compute the column in the DataFrame"
)

PER_GROUPING = "write one query per grouping and UNION ALL them"

REFUSED: dict[type[Tree], tuple[str, str | None]] = {
    exp.CurrentTimestamp: NO_CLOCK,
    exp.CurrentDate: NO_CLOCK,
    exp.CurrentTime: NO_CLOCK,
    exp.Localtimestamp: NO_CLOCK,
    exp.Window: (
        "OVER is not supported",
        "aggregate over a window of the stream, such as s [RANGE 1 HOUR] or s [PARTITION BY a ROWS 5]",
    ),
    exp.All: ("ALL (SELECT ...) is not supported", "compare with (SELECT MAX(...) ...), or write NOT EXISTS"),
    exp.Any: ("ANY (SELECT ...) is not supported", "write IN or EXISTS"),
    exp.Tuple: ("a row of values is not supported here", "compare the columns one by one"),
    exp.Star: ("* stands only in a select list and in COUNT(*)", None),
    exp.Distinct: ("DISTINCT stands only after SELECT and in an aggregate", None),
    **dict.fromkeys(
        (exp.Array, exp.Bracket, exp.Dot, exp.JSONExtract, exp.Lambda, exp.Struct),
        ("arrays, maps and structs are not supported", COMPUTE_FIRST),
    ),
    exp.Select: ("a subquery stands in parentheses", None),
    **dict.fromkeys((exp.Parameter, exp.Placeholder), ("there are no parameters in a query", None)),
    exp.Alias: ("a name is given only in a select list and in GROUP BY", None),
    **dict.fromkeys(
        (exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseNot, exp.BitwiseLeftShift, exp.BitwiseRightShift),
        ("bit operations are not supported", None),
    ),
    exp.Cube: ("CUBE is not supported", PER_GROUPING),
    exp.Rollup: ("ROLLUP is not supported", PER_GROUPING),
    exp.GroupingSets: ("GROUPING SETS is not supported", PER_GROUPING),
}
