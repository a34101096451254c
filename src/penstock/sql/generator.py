"""Trees back to text: the normal form of queries.

A clause stands on one line if it fits, and else has a line for each entry. `TallGenerator` never puts two entries on
one line, so that each can keep its comment.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.generators.spark import SparkGenerator

from penstock.sql.calls import is_taken
from penstock.sql.dialect import StreamList, StreamWindow
from penstock.types import duration_text

#: Our names for the types that are ours; sqlglot would rename many others to one of these.
_TYPES = {
    exp.DType.BOOLEAN: "BOOLEAN",
    exp.DType.INT: "INT",
    exp.DType.BIGINT: "BIGINT",
    exp.DType.DOUBLE: "DOUBLE",
    exp.DType.DECIMAL: "DECIMAL",
    exp.DType.TEXT: "STRING",
    exp.DType.BINARY: "BINARY",
    exp.DType.TIMESTAMPTZ: "TIMESTAMP",
    exp.DType.TIMESTAMP: "TIMESTAMP",
    exp.DType.DATE: "DATE",
}


class QueryGenerator(SparkGenerator):
    TALL: ClassVar[bool] = False

    TRANSFORMS: ClassVar[dict[type[exp.Expr], Any]] = {
        **SparkGenerator.TRANSFORMS,
        # Spark's would rewrite clauses that Spark lacks; what the binder refuses has to stay as it is.
        exp.Select: lambda self, select: self.select_sql(select),
        StreamWindow: lambda self, window: self.stream_window_sql(window),
        StreamList: lambda self, stream_list: self.stream_list_sql(stream_list),
        # A cast that fails gives NULL here, so both forms mean the same.
        exp.TryCast: lambda self, cast: self.cast_sql(cast),
        # With parentheses they would be calls.
        exp.CurrentTimestamp: lambda self, _: "CURRENT_TIMESTAMP",
        exp.CurrentUser: lambda self, _: "CURRENT_USER",
    }

    def anonymous_sql(self, expression: exp.Anonymous) -> str:
        """Functions of the language in upper case; the user's own as they are written."""
        return str(self.func(expression.name, *expression.expressions, normalize=is_taken(expression.name)))

    def stream_window_sql(self, window: StreamWindow) -> str:
        kind, size, slide = window.args["kind"], window.args.get("size"), window.args.get("slide")
        if kind == "RANGE" and size == 0 and slide is None:
            return "[NOW]"
        if kind == "RANGE":
            sliding = f" SLIDE {duration_text(slide)}" if slide else ""
            return f"[RANGE {duration_text(size or 0)}{sliding}]"
        if kind == "ROWS":
            by = self.expressions(window, key="by", flat=True)
            return f"[PARTITION BY {by} ROWS {size}]" if by else f"[ROWS {size}]"
        return "[UNBOUNDED]"

    def stream_list_sql(self, stream_list: StreamList) -> str:
        distinct = "DISTINCT " if stream_list.args.get("distinct") else ""
        items = self._entries(stream_list.expressions)
        closing = self.sep("") if items.startswith("\n") else ""
        return f"{stream_list.args['kind']}({distinct}{items.removeprefix(' ')}{closing})"

    def table_parts(self, expression: exp.Table) -> str:
        window = self.sql(expression, "window")
        parts = super().table_parts(expression)
        return f"{parts} {window}" if window else parts

    def select_sql(self, expression: exp.Select) -> str:
        if any(expression.args.get(part) for part in ("into", "kind", "operation_modifiers", "exclude")):
            return str(super().select_sql(expression))
        distinct = self.sql(expression, "distinct")
        head = f"SELECT{self.sql(expression, 'hint')}{' ' if distinct else ''}{distinct}"
        items = expression.expressions
        # The list of ISTREAM(...) breaks its lines itself.
        is_stream = bool(items) and isinstance(items[0], StreamList)
        selected = f" {self.sql(items[0])}" if is_stream else self._entries(items)
        query = self.query_modifiers(expression, f"{head}{selected}", self.sql(expression, "from_"))
        return str(self.prepend_ctes(expression, query))

    def where_sql(self, expression: exp.Where) -> str:
        return self._condition("WHERE", expression)

    def having_sql(self, expression: exp.Having) -> str:
        return self._condition("HAVING", expression)

    def _condition(self, keyword: str, clause: exp.Expr) -> str:
        condition = self.sql(clause, "this")
        if isinstance(clause.this, exp.Connector):
            condition = self.indent(condition, skip_first=True)
        return f"{self.seg(keyword)} {condition}"

    def op_expressions(self, op: str, expression: exp.Expr, flat: bool = False) -> str:
        """GROUP BY and its like."""
        return f"{self.seg(op)}{self._entries(expression.expressions)}"

    def connector_sql(self, expression: exp.Connector, op: str, stack: list[str | exp.Expr] | None = None) -> str:
        """Conditions that AND and OR connect: on one line, or each on its own behind its AND or OR."""
        lines: list[str] = []
        left: list[str | exp.Expr] = [expression]
        while left:
            node = left.pop()
            if isinstance(node, exp.Connector):
                left += [node.right, str(node.key).upper(), node.left]
            elif isinstance(node, str):
                lines.append(node)
            elif lines:
                lines[-1] += f" {self.sql(node)}"
            else:
                lines.append(self.sql(node))
        return ("\n" if self.pretty and (self.TALL or self.too_wide(lines)) else " ").join(lines)

    def too_wide(self, args: Any) -> bool:
        texts = list(args)
        return any("\n" in text for text in texts) or bool(super().too_wide(texts))

    def join_sql(self, expression: exp.Join, join_op: str | None = None) -> str:
        text = str(super().join_sql(expression, join_op))
        if not self.pretty:
            return text
        if text.startswith(", "):
            return self._after_comma(expression, text)
        table, condition = self.sql(expression, "this"), text.rpartition("\n  ")[2]
        on_one_line = f"{text.removesuffix(condition).rstrip()} {condition}"
        fits = text.count("\n") == 2 and "\n" not in table and not self.too_wide([on_one_line.lstrip()])
        return on_one_line if fits and not self.TALL else text

    def _after_comma(self, join: exp.Join, text: str) -> str:
        """A FROM that is too wide for one line has each entry on a line of its own."""
        select = join.parent
        if not isinstance(select, exp.Select):
            return text
        entries = [select.args["from_"].this, *(other.this for other in select.args["joins"])]
        tables = [self.sql(entry) for entry in entries if isinstance(entry, exp.Table)]
        if not self.TALL and not self.too_wide(tables):
            return text
        return f",{self.sep('')}{self.indent(text[2:], level=1, pad=0)}"

    def subquery_sql(self, expression: exp.Subquery, sep: str = " AS ") -> str:
        """`s [NOW] AS x` for `(s [NOW]) AS x`."""
        table, alias = expression.this, expression.args.get("alias")
        if not isinstance(table, exp.Table) or any(v for k, v in expression.args.items() if k not in ("this", "alias")):
            return str(super().subquery_sql(expression, sep))
        table = table.copy()
        if alias:
            table.set("alias", alias.copy())
        return self.sql(table)

    def paren_sql(self, expression: exp.Paren) -> str:
        inner = self.sql(expression, "this")
        if "\n" not in inner:
            return f"({inner})"
        return f"({self.seg(self.indent(inner), sep='')}{self.seg(')', sep='')}"

    def exists_sql(self, expression: exp.Exists) -> str:
        return f"EXISTS {self.wrap(expression)}"

    def filter_sql(self, expression: exp.Filter) -> str:
        condition = self.sql(expression.expression, "this")
        return f"{self.sql(expression, 'this')} FILTER (WHERE {condition})"

    def cast_sql(self, expression: exp.Cast, safe_prefix: str | None = None) -> str:
        """`DATE '2026-01-31'` for `CAST('2026-01-31' AS DATE)`: one value, two spellings."""
        literal, type_ = expression.this, self.sql(expression, "to")
        if isinstance(literal, exp.Literal) and literal.is_string and type_ in ("DATE", "TIMESTAMP"):
            return f"{type_} {self.sql(literal)}"
        return str(super().cast_sql(expression, safe_prefix))

    def datatype_sql(self, expression: exp.DataType) -> str:
        """A type that is not ours stays as it was written, to be refused."""
        name, written = _TYPES.get(expression.this), str(expression.meta.get("written", ""))
        if name is not None and (name == "DECIMAL" or not expression.expressions):
            parameters = self.expressions(expression, flat=True)
            return f"{name}({parameters})" if parameters else name
        on_one_line = written and not any(mark in written for mark in ("\n", "--", "/*"))
        return written if on_one_line else str(super().datatype_sql(expression))

    def not_sql(self, expression: exp.Not) -> str:
        """`a NOT IN (1)` rather than `NOT a IN (1)`."""
        test = expression.this
        if not isinstance(test, (exp.Is, exp.In, exp.Between, exp.Like, exp.ILike)):
            return str(super().not_sql(expression))
        # With a mark as its subject, the test shows which word the subject is followed by.
        marked = test.copy()
        marked.this.replace(exp.var("?"))
        word, _, rest = self.sql(marked).removeprefix("? ").partition(" ")
        negated = f"IS NOT {rest}" if word == "IS" else f"NOT {word} {rest}"
        return f"{self.sql(test, 'this')} {negated}"

    def interval_sql(self, expression: exp.Interval) -> str:
        amount = expression.this
        if isinstance(amount, exp.Literal) and amount.name.isdecimal() and expression.args.get("unit"):
            return f"INTERVAL {amount.name} {self.sql(expression, 'unit')}"
        return str(super().interval_sql(expression))

    def _entries(self, trees: list[exp.Expr]) -> str:
        """The entries of a clause behind its keyword."""
        texts = [self.sql(tree) for tree in trees]
        on_one_line = ", ".join(texts)
        if self.pretty and (self.too_wide([on_one_line]) or (self.TALL and len(texts) > 1)):
            return f"{self.sep()}{self.expressions(sqls=texts)}"
        return f" {on_one_line}" if texts else ""


class TallGenerator(QueryGenerator):
    TALL = True
