"""CQL as a sqlglot dialect over Spark's: windows after stream names, and ISTREAM, DSTREAM, RSTREAM.

The trees are sqlglot's own with two nodes added: a `StreamWindow` on a table, and a `StreamList` as the one projection
of a SELECT that gives a stream. Function calls stay just as they were written: sqlglot would give some of them the
meaning that another system has, and the binder looks them up in our own table.
"""

from __future__ import annotations

from typing import Any, NoReturn

from sqlglot import exp, parser as sqlglot_parser
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError
from sqlglot.generators.spark import SparkGenerator
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokens import Token, TokenType

from penstock.errors import PenstockError
from penstock.types import DAY, HOUR, MICROSECOND, MILLISECOND, MINUTE, SECOND

if not (sqlglot_parser.__file__ or "").endswith(".py"):
    raise PenstockError(
        "sqlglot's compiled extension is installed, and its classes cannot be extended",
        "uninstall it and keep the pure Python package: pip uninstall sqlglotc",
    )

UNITS = {
    "MICROSECOND": MICROSECOND,
    "MILLISECOND": MILLISECOND,
    "SECOND": SECOND,
    "MINUTE": MINUTE,
    "HOUR": HOUR,
    "DAY": DAY,
}
UNIT_NAMES = "MICROSECONDS, MILLISECONDS, SECONDS, MINUTES, HOURS or DAYS"

RELATION_TO_STREAM = ("ISTREAM", "DSTREAM", "RSTREAM")


class StreamWindow(exp.Expression):
    """`[RANGE w SLIDE m]`, `[ROWS n]`, `[PARTITION BY a, b ROWS n]` or `[UNBOUNDED]`; times in microseconds."""

    arg_types = {"kind": True, "size": False, "slide": False, "by": False}


class StreamList(exp.Expression):
    """`ISTREAM(a, b)`: the select list of a query that gives a stream."""

    arg_types = {"kind": True, "expressions": True, "distinct": False}


class SyntaxFault(ParseError):
    """A syntax error with the token where it was seen and a hint of ours, if we have one."""

    def __init__(self, message: str, token: Token | None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.token = token
        self.hint = hint


class QueryParser(SparkParser):
    """Spark's parser, taught windows and relation-to-stream operators."""

    # What sqlglot does not know stays an anonymous call with the name that was written.
    FUNCTIONS: dict[str, Any] = {}
    FUNCTION_PARSERS = {
        name: SparkParser.FUNCTION_PARSERS[name] for name in ("CAST", "EXTRACT", "POSITION", "TRY_CAST")
    }
    NO_PAREN_FUNCTION_PARSERS = {"CASE": SparkParser.NO_PAREN_FUNCTION_PARSERS["CASE"]}
    PRIMARY_PARSERS = {
        **SparkParser.PRIMARY_PARSERS,
        TokenType.NULL: lambda self, token: self.expression(exp.Null(), token),
        TokenType.TRUE: lambda self, token: self.expression(exp.Boolean(this=True), token),
        TokenType.FALSE: lambda self, token: self.expression(exp.Boolean(this=False), token),
    }

    def fault(self, message: str, hint: str | None = None, token: Token | None = None) -> NoReturn:
        raise SyntaxFault(message, token or self._curr or self._prev or None, hint)

    def raise_error(self, message: str, token: Token | None = None) -> None:  # type: ignore[override]
        self.fault(message, token=token)

    def _parse_stream(self) -> None:  # type: ignore[override]
        """Databricks' `FROM STREAM name` is not ours."""

    def _parse_table(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        table = super()._parse_table(*args, **kwargs)
        if isinstance(table, (exp.Table, exp.Subquery)) and self._match(TokenType.L_BRACKET, advance=False):
            self.read_stream_window(table)
        return table

    def _parse_bracket(self, this: exp.Expr | None = None) -> exp.Expr | None:
        if isinstance(this, exp.Table) and self._match(TokenType.L_BRACKET, advance=False):
            self.read_stream_window(this)
            return this
        return super()._parse_bracket(this)

    def _parse_table_alias(self, alias_tokens: Any = None) -> exp.TableAlias | None:
        return None if self._at_words("ALLOW", "UNBOUNDED") else super()._parse_table_alias(alias_tokens)

    def _at_words(self, first: str, second: str) -> bool:
        return bool(self._curr) and self._curr.text.upper() == first and self._next.text.upper() == second

    def read_stream_window(self, table: exp.Expr) -> None:
        if table.args.get("window"):
            self.fault("a stream has one window")
        opening = self._curr
        self._advance()
        window = self.read_window_spec()
        if not self._match(TokenType.R_BRACKET):
            self.fault("expected ] after the window")
        table.set("window", window.update_positions(opening))

    def read_window_spec(self) -> StreamWindow:
        if self._match_text_seq("NOW"):
            return StreamWindow(kind="RANGE", size=0)
        if self._match_text_seq("UNBOUNDED"):
            return StreamWindow(kind="UNBOUNDED")
        if self._match_text_seq("RANGE"):
            return self.read_range()
        by = self._parse_csv(self._parse_id_var) if self._match(TokenType.PARTITION_BY) else None
        if self._match_text_seq("ROWS"):
            if not by and self._match_text_seq("UNBOUNDED"):
                return StreamWindow(kind="UNBOUNDED")
            return StreamWindow(kind="ROWS", size=self.read_count("a window"), by=by)
        if by:
            self.fault("expected ROWS n after PARTITION BY", "a partitioned window is [PARTITION BY a, b ROWS n]")
        self.fault(
            "this is not a window",
            "write [RANGE n unit], [RANGE n unit SLIDE m unit], [ROWS n], [PARTITION BY a, b ROWS n], [NOW] or "
            "[UNBOUNDED]",
        )

    def read_range(self) -> StreamWindow:
        if self._match_text_seq("UNBOUNDED"):
            return StreamWindow(kind="UNBOUNDED")
        width = self.read_duration("RANGE")
        slide = None
        if self._match_text_seq("SLIDE"):
            token = self._curr
            slide = self.read_duration("SLIDE")
            if slide == 0:
                self.fault("a window cannot slide by 0", "leave SLIDE out for a window that moves at every instant", token)
        return StreamWindow(kind="RANGE", size=width, slide=slide)

    def read_count(self, what: str, least: int = 1) -> int:
        """A whole number of rows."""
        negative = self._match(TokenType.DASH)
        token = self._curr
        if not self._match(TokenType.NUMBER):
            self.fault(f"expected a number of rows for {what}")
        if self._curr and self._curr.token_type is TokenType.COMMA and self._next.token_type is TokenType.NUMBER:
            self.fault("a number has no thousands separator", "write 10000, not 10,000")
        if not token.text.isdecimal() or negative or int(token.text) < least:
            sign = "-" if negative else ""
            self.fault(f"{what} has a whole number of rows, {least} or more, not {sign}{token.text}", token=token)
        if int(token.text) >= 2**63:
            self.fault(f"{token.text} rows are more than there can be", token=token)
        return int(token.text)

    def read_duration(self, after: str) -> int:
        """A time such as `10 MINUTES`, in microseconds."""
        negative = self._match(TokenType.DASH)
        token = self._curr
        if not self._match_set((TokenType.NUMBER, TokenType.STRING)):
            self.fault(f"expected a time after {after}", f"for example {after} 10 MINUTES")
        unit = self.read_unit(after, token)
        microseconds = exact_microseconds(token.text, unit)
        if microseconds is None or negative:
            self.fault(f"{after} takes a time of whole microseconds that is not negative", token=token)
        if microseconds > MAX_DURATION:
            self.fault("a time is at most 10,000 years", token=token)
        return microseconds

    def read_unit(self, after: str, number: Token) -> int:
        word = self._curr.text.upper() if self._curr else ""
        unit = UNITS.get(word) or UNITS.get(word.removesuffix("S"))
        if unit is None:
            self.fault(f"expected a unit of time after {number.text}", f"units are {UNIT_NAMES}")
        self._advance()
        return unit

    def _parse_projections(self) -> tuple[list[exp.Expr], list[exp.Expr] | None]:
        if not self._at_stream_list():
            return super()._parse_projections()
        token = self._curr
        self._advance()
        wrapped = self._match(TokenType.L_PAREN, advance=False) and self._closes_select_list()
        if wrapped:
            self._advance()
        distinct = bool(self._match(TokenType.DISTINCT))
        expressions, exclude = super()._parse_projections()
        if wrapped:
            self._match_r_paren()
        kind = token.text.upper()
        stream_list = self.expression(StreamList(kind=kind, expressions=expressions, distinct=distinct), token)
        return [stream_list], exclude

    def _at_stream_list(self) -> bool:
        """Whether ISTREAM here is the operator and not a column of that name: what follows begins an expression."""
        token, following = self._curr, self._next
        if not token or token.token_type is TokenType.IDENTIFIER or token.text.upper() not in RELATION_TO_STREAM:
            return False
        ends = (TokenType.FROM, TokenType.COMMA, TokenType.ALIAS, TokenType.DOT, TokenType.R_PAREN)
        operators = {*self.TERM, *self.FACTOR, *self.EQUALITY, *self.COMPARISON, *self.RANGE_PARSERS} - {TokenType.STAR}
        return bool(following) and following.token_type not in {*ends, *operators}

    def _closes_select_list(self) -> bool:
        """Whether the parenthesis that opens here closes at the end of the select list: `ISTREAM(a, b) FROM`."""
        depth = 0
        for index in range(self._index, len(self._tokens)):
            kind = self._tokens[index].token_type
            depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
            if depth == 0:
                after = self._tokens[index + 1 : index + 2]
                return not after or after[0].token_type in (TokenType.FROM, TokenType.R_PAREN)
        return False

    def _parse_group(self, skip_group_by_token: bool = False) -> exp.Group | None:
        """`GROUP BY time / 300 AS tb`, as Koudas et al. write it: a grouping expression may be named."""
        group = super()._parse_group(skip_group_by_token)
        while group and group.expressions and self._match(TokenType.ALIAS):
            alias = self._parse_id_var(any_token=False)
            if not alias:
                self.fault("expected a name after AS")
            named = self.expression(exp.Alias(this=group.expressions[-1].copy(), alias=alias))
            group.set("expressions", [*group.expressions[:-1], named])
            if self._match(TokenType.COMMA):
                group.set("expressions", [*group.expressions, *self._parse_csv(self._parse_disjunction)])
        return group


#: Longer times would leave the range in which differences of timestamps are exact.
MAX_DURATION = 10_000 * 366 * DAY


def exact_microseconds(number: str, unit: int) -> int | None:
    """`number` units in microseconds, or None where that is not whole.

    >>> exact_microseconds("1.5", SECOND), exact_microseconds("0.0000001", SECOND), exact_microseconds("x", SECOND)
    (1500000, None, None)
    """
    whole, point, fraction = number.strip().partition(".")
    if not (whole + fraction).isascii() or not (whole + fraction).isdecimal() or (point and not fraction):
        return None
    if len(whole) > 20 or len(fraction) > 20:
        return None
    value, rest = divmod(int(whole + fraction) * unit, 10 ** len(fraction))
    return None if rest else value


class QueryGenerator(SparkGenerator):
    """Prints the trees back."""

    TRANSFORMS = {
        **SparkGenerator.TRANSFORMS,
        StreamWindow: lambda self, window: self.stream_window_sql(window),
        StreamList: lambda self, stream_list: self.stream_list_sql(stream_list),
        # Spark's generator rewrites these; here they are printed as they were read.
        exp.TryCast: lambda self, cast: f"TRY_CAST({self.sql(cast, 'this')} AS {self.sql(cast, 'to')})",
    }

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
        return f"{stream_list.args['kind']} {distinct}{self.expressions(stream_list, flat=True)}"

    def table_parts(self, expression: exp.Table) -> str:
        window = self.sql(expression, "window")
        parts = super().table_parts(expression)
        return f"{parts} {window}" if window else parts


def duration_text(microseconds: int) -> str:
    """A time in the largest unit of which it is a whole number.

    >>> duration_text(600_000_000), duration_text(1_500_000), duration_text(1)
    ('10 MINUTES', '1500 MILLISECONDS', '1 MICROSECOND')
    """
    name, unit = max(
        ((name, unit) for name, unit in UNITS.items() if microseconds % unit == 0 and (microseconds or unit == SECOND)),
        key=lambda pair: pair[1],
    )
    count = microseconds // unit
    return f"{count} {name}" if count == 1 else f"{count} {name}S"
