"""CQL as a sqlglot dialect over Spark's: windows after stream names, and ISTREAM, DSTREAM, RSTREAM.

The trees are sqlglot's own with two nodes added: a `StreamWindow` on a table, and a `StreamList` as the one projection
of a SELECT that gives a stream. Function calls stay just as they were written: sqlglot would give some of them the
meaning that another system has, and the binder looks them up in our own table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NoReturn, TypeVar

from sqlglot import exp
from sqlglot import parser as sqlglot_parser
from sqlglot.errors import ParseError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from penstock.errors import PenstockError
from penstock.types import DAY, UNITS

if not (sqlglot_parser.__file__ or "").endswith(".py"):
    raise PenstockError(
        "sqlglot's compiled extension is installed, and its classes cannot be extended",
        "uninstall it and keep the pure Python package: pip uninstall sqlglotc",
    )

UNIT_NAMES = "MICROSECONDS, MILLISECONDS, SECONDS, MINUTES, HOURS or DAYS"

INSTEAD_OF_WINDOW = "a window is of a stream: put it behind the stream's name, inside the subquery or view"

T = TypeVar("T")

RELATION_TO_STREAM = ("ISTREAM", "DSTREAM", "RSTREAM")


class StreamWindow(exp.Expression):
    """`[RANGE w SLIDE m]`, `[ROWS n]`, `[PARTITION BY a, b ROWS n]` or `[UNBOUNDED]`; times in microseconds."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "size": False, "slide": False, "by": False}


class StreamList(exp.Expression):
    """`ISTREAM(a, b)`: the select list of a query that gives a stream."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "expressions": True, "distinct": False}


class Fault(Exception):
    """A syntax error of our grammar: the token where it was seen, and a hint if we have one."""

    def __init__(self, message: str, token: Token | None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.token = token
        self.hint = hint


class SyntaxFault(Fault, ParseError):
    """A syntax error that sqlglot saw. It may try another reading, which it never does after one of ours."""


def _whole_call(parse: Callable[[Any], exp.Expr]) -> Callable[[Any], exp.Expr]:
    """A call in a syntax of its own, which sqlglot would let end without its parenthesis."""

    def parse_call(parser: Any) -> exp.Expr:
        name = parser._tokens[parser._index - 2]
        call = parse(parser)
        if not parser._match(TokenType.R_PAREN, advance=False):
            parser.fault("expected )")
        return call.update_positions(name)

    return parse_call


def _placed(tree: exp.Expr | None, token: Token) -> exp.Expr | None:
    """The tree with its place, where sqlglot has not noted it."""
    if tree is not None and "start" not in tree.meta:
        tree.update_positions(token)
    return tree


#: JOINs may be inside each other so deep.
_MOST_JOINS_INSIDE = 16


class QueryParser(SparkParser):
    """Spark's parser, taught windows and relation-to-stream operators."""

    # A comma binds less than JOIN, as in the SQL standard.
    JOINS_HAVE_EQUAL_PRECEDENCE = False
    # There is no clause WINDOW, but GROUP BY window(ts, '10 minutes').
    QUERY_MODIFIER_TOKENS: ClassVar[set[TokenType]] = set(SparkParser.QUERY_MODIFIER_TOKENS) - {TokenType.WINDOW}
    # What sqlglot does not know stays an anonymous call with the name that was written.
    FUNCTIONS: ClassVar[dict[str, Any]] = {}
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        name: _whole_call(SparkParser.FUNCTION_PARSERS[name]) for name in ("CAST", "EXTRACT", "POSITION", "TRY_CAST")
    }
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {"CASE": SparkParser.NO_PAREN_FUNCTION_PARSERS["CASE"]}
    PRIMARY_PARSERS: ClassVar[dict[TokenType, Any]] = {
        **SparkParser.PRIMARY_PARSERS,
        TokenType.HEX_STRING: lambda self, token: self.read_bytes(token),
        TokenType.NULL: lambda self, token: self.expression(exp.Null(), token),
        TokenType.TRUE: lambda self, token: self.expression(exp.Boolean(this=True), token),
        TokenType.FALSE: lambda self, token: self.expression(exp.Boolean(this=False), token),
    }

    def fault(self, message: str, hint: str | None = None, token: Token | None = None) -> NoReturn:
        raise Fault(message, token or self._curr or None, hint)

    def raise_error(self, message: str, token: Token | None = None) -> None:
        raise SyntaxFault(message, token or self._curr or None)

    def read_bytes(self, token: Token) -> exp.Expr:
        """`X'1F'`. A number such as 0x1F comes as the same token."""
        if self.sql[token.start] == "0":
            self.fault("there are no hexadecimal numbers", "write it in decimal digits, or X'1F' for bytes", token)
        return self.expression(exp.HexString(this=token.text), token)

    def _parse_hint(self) -> None:
        """sqlglot reads a hint as a text of its own, and its places would be those of another text."""
        if self._match(TokenType.HINT, advance=False):
            self.fault("there are no hints", "leave out /*+ ... */")

    def _parse_stream(self) -> None:
        """Databricks' `FROM STREAM name` is not ours."""

    def _parse_csv(self, parse_method: Callable[[], T | None], sep: TokenType = TokenType.COMMA) -> list[T]:
        """A list that ends where its commas end: sqlglot passes over a comma that nothing follows."""

        def parse() -> T | None:
            item = parse_method()
            if item is None and self._prev.token_type is sep:
                self.raise_error("Required item missing")
            return item

        return super()._parse_csv(parse, sep)

    def _parse_select_query(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        token = self._curr
        query = super()._parse_select_query(*args, **kwargs)
        first = query
        while isinstance(first, exp.SetOperation):
            first = first.this
        if isinstance(first, exp.Select) and token.token_type is TokenType.SELECT:
            first.update_positions(token)
        return query

    def _parse_types(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        start = self._curr
        # As in a declaration, so that VARCHAR stays what it is; elsewhere Spark reads it as STRING, and sqlglot slowly.
        type_ = super()._parse_types(*args, **{**kwargs, "schema": True})
        if isinstance(type_, exp.DataType):
            type_.update_positions(line=start.line, col=start.col, start=start.start, end=self._prev.end)
            type_.meta["written"] = self._find_sql(start, self._prev)
        return type_

    def _parse_interval(self, *args: Any, **kwargs: Any) -> Any:
        token = self._curr
        return _placed(super()._parse_interval(*args, **kwargs), token)

    def _parse_placeholder(self) -> Any:
        token = self._curr
        return _placed(super()._parse_placeholder(), token)

    def _parse_function_call(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        token = self._curr
        return _placed(super()._parse_function_call(*args, **kwargs), token)

    def _parse_position(self, haystack_first: bool = False) -> exp.Expr:  # type: ignore[override]
        """`POSITION(part IN string)`, or a call like any other."""
        args = self._parse_csv(self._parse_bitwise)
        if len(args) == 1 and self._match(TokenType.IN):
            return self.expression(exp.StrPosition(this=self._parse_bitwise(), substr=args[0]))
        return self.expression(exp.Anonymous(this="POSITION", expressions=args))

    def _parse_table(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        around, self._joins_inside = self._joins_inside, 0
        try:
            table = super()._parse_table(*args, **kwargs)
        finally:
            self._joins_inside = around
        if isinstance(table, (exp.Table, exp.Subquery)) and self._match(TokenType.L_BRACKET, advance=False):
            if isinstance(table.this, exp.Query):
                self.fault("a subquery is a relation, and has no window", INSTEAD_OF_WINDOW)
            self.read_stream_window(table)
        return table

    def _parse_bracket(self, this: exp.Expr | None = None) -> exp.Expr | None:
        if isinstance(this, exp.Table) and self._match(TokenType.L_BRACKET, advance=False):
            self.read_stream_window(this)
            return this
        return super()._parse_bracket(this)

    def _parse_table_alias(self, alias_tokens: Any = None) -> exp.TableAlias | None:
        ends = self._at_words("ALLOW", "UNBOUNDED") or self._at_words("EMIT", "ON") or self._at_approximate()
        return None if ends else super()._parse_table_alias(alias_tokens)

    _joins_inside: int
    _no_joins_inside_before: int

    def reset(self) -> None:
        super().reset()
        self._joins_inside = self._no_joins_inside_before = 0

    def _parse_joins(self, *args: Any, **kwargs: Any) -> Iterator[exp.Join]:
        """In `a JOIN b JOIN c ON ... ON ...` the second JOIN is inside the first.

        sqlglot tries that at each JOIN without a condition, and again at each JOIN behind it, which takes time
        exponential in their number. What was tried in vain once is not tried again, nor what is nested deeply.
        """
        self._joins_inside += 1
        try:
            is_vain = self._index < self._no_joins_inside_before or self._joins_inside > _MOST_JOINS_INSIDE
            if self._joins_inside == 1 or not is_vain:
                yield from super()._parse_joins(*args, **kwargs)
        finally:
            self._joins_inside -= 1
            if self._joins_inside and not (self._curr and self._curr.token_type in (TokenType.ON, TokenType.USING)):
                self._no_joins_inside_before = max(self._no_joins_inside_before, self._index)

    def _parse_join(self, *args: Any, **kwargs: Any) -> exp.Join | None:
        if not self._match(TokenType.COMMA):
            return super()._parse_join(*args, **kwargs)
        table = self._parse_table(alias_tokens=kwargs.get("alias_tokens"))
        if table is None:
            self.fault("expected a stream after the comma")
        return self.expression(exp.Join(this=table))

    def _negate_range(self, this: exp.Expr | None = None) -> exp.Expr | None:
        """`a NOT LIKE b` is NOT over LIKE, as for every other test: sqlglot would mark the LIKE instead."""
        return self.expression(exp.Not(this=this)) if this else this

    def _at_approximate(self) -> bool:
        """Whether APPROXIMATE ends the query here: it is a stream's alias only where more of FROM follows."""
        if not self._curr or self._curr.text.upper() != "APPROXIMATE":
            return False
        return not self._next or self._next.text.upper() in ("WITHIN", "EMIT", "ALLOW", ";")

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
            return StreamWindow(kind="ROWS", size=self.read_count("a window has"), by=by)
        if by and self._match(TokenType.L_PAREN, advance=False):
            hint = "a partitioned window is [PARTITION BY a, b ROWS n]: compute the column before the rows arrive"
            self.fault("a window is partitioned by columns, and this is a call", hint, self._prev)
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
                self.fault(
                    "a window cannot slide by 0", "leave SLIDE out for a window that moves at every instant", token
                )
        return StreamWindow(kind="RANGE", size=width, slide=slide)

    def read_count(self, what: str, least: int = 1) -> int:
        """A whole number of rows."""
        negative = self._match(TokenType.DASH)
        token = self._curr
        if not self._match(TokenType.NUMBER):
            self.fault("expected a number of rows")
        if self._curr and self._curr.token_type is TokenType.COMMA and self._next.token_type is TokenType.NUMBER:
            self.fault("a number has no thousands separator", "write 10000, not 10,000")
        whole = token.text.isascii() and token.text.isdecimal()
        if whole and len(token.text.lstrip("0")) > 18:
            self.fault("so many rows there cannot be", token=token)
        if not whole or negative or int(token.text) < least:
            sign = "-" if negative else ""
            self.fault(f"{what} a whole number of rows, {least} or more, not {sign}{token.text}", token=token)
        return int(token.text)

    def read_duration(self, after: str) -> int:
        """A time such as `10 MINUTES`, in microseconds."""
        negative = self._match(TokenType.DASH)
        token = self._curr
        if not self._match_set((TokenType.NUMBER, TokenType.STRING)):
            self.fault(f"expected a time after {after}", f"for example {after} 10 MINUTES")
        unit = self.read_unit(after, token)
        microseconds = exact_microseconds(token.text, unit)
        if negative:
            self.fault(f"{after} takes a time that is not negative", token=token)
        if microseconds is None:
            self.fault(f"{after} takes a time of whole microseconds", token=token)
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
        token = self._curr
        group = super()._parse_group(skip_group_by_token)
        if group and not any(group.args.values()):
            self.fault("expected a column after GROUP BY")
        if group:
            group.update_positions(token)
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

    >>> from penstock.types import SECOND
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
