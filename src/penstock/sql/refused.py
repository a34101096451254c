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

_BEHIND = "collect the rows behind the query, in the DataFrame that it gives"

#: What to write instead of functions that Spark has.
INSTEAD = {
    "ANY_VALUE": "write MIN(x) or FIRST(x): a result depends on the input alone",
    "ADD_MONTHS": "months differ in length; add days: d + INTERVAL 30 DAYS",
    "ARRAY_AGG": _BEHIND,
    "BOOL_AND": "write COUNT_IF(NOT x) = 0",
    "BOOL_OR": "write COUNT_IF(x) > 0",
    "COLLECT_LIST": _BEHIND,
    "COLLECT_SET": _BEHIND,
    "CONCAT_WS": "write CONCAT(a, '-', b)",
    "DATEDIFF": "compute it in the DataFrame first; times differ by UNIX_SECONDS(a) - UNIX_SECONDS(b)",
    "DATE_ADD": "write d + INTERVAL 3 DAYS",
    "DATE_SUB": "write d - INTERVAL 3 DAYS",
    "EVERY": "write COUNT_IF(NOT x) = 0",
    "EXPLODE": "explode it in the DataFrame first: df.select(F.explode(...))",
    "FROM_JSON": "parse it in the DataFrame first: df.select(F.from_json(...))",
    "FROM_UNIXTIME": "write TIMESTAMP_SECONDS(x), and DATE_FORMAT of it for a text",
    "GROUPING": PER_GROUPING,
    "LAG": "join the row before: s [PARTITION BY key ROWS 2], or compute it behind the query",
    "MEDIAN": _BEHIND,
    "PERCENTILE": _BEHIND,
    "PERCENTILE_APPROX": _BEHIND,
    "SOME": "write COUNT_IF(x) > 0",
    "SPLIT": "split it in the DataFrame first, into a column for each part; or REGEXP_EXTRACT one part",
    "TO_DATE": "write CAST(x AS DATE)",
    "UNIX_TIMESTAMP": "write UNIX_SECONDS(ts)",
    **{name: f"write CAST(x AS {name})" for name in ("BIGINT", "BOOLEAN", "DECIMAL", "DOUBLE", "INT", "STRING")},
}

#: What stands in FROM elsewhere.
TABLE_FUNCTION = (
    "a function in FROM is not supported",
    "read the stream, and group by the window: FROM s GROUP BY TUMBLE(ts, INTERVAL '10' MINUTE)",
)

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
