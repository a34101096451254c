"""The parser of statements: DDL in our own grammar, queries through the dialect.

A file is cut into statements at its semicolons, and each is parsed by itself, so that an error in one does not hide
those in the others.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from penstock.catalog import Connector, Inferred, OnViolation, Within, WithinRows, WithinTime
from penstock.errors import Source, Span, SqlError
from penstock.sql.diagnostics import counted, did_you_mean, nested_too_deeply
from penstock.sql.dialect import UNIT_NAMES, Fault, QueryParser
from penstock.sql.generator import QueryGenerator
from penstock.sql.syntax import (
    AlterStream,
    ClusteredClause,
    ColumnDef,
    ConstraintClause,
    CreateAssertion,
    CreateQuery,
    CreateStream,
    CreateTable,
    CreateView,
    Creation,
    Drop,
    Name,
    Names,
    OrderedClause,
    PunctuatedClause,
    RateClause,
    ReferenceClause,
    Statement,
    Tree,
    UniqueClause,
    VariableDef,
)
from penstock.sql.syntax_errors import STATEMENTS, syntax_error
from penstock.sql.unreadable import unreadable

T = TypeVar("T")

DROPPABLE = ("STREAM", "TABLE", "VIEW", "QUERY", "ASSERTION")
CREATABLE = "STREAM, TABLE, VIEW, QUERY or ASSERTION"

STATEMENT_HINT = "statements are CREATE, ALTER, DROP and SELECT"
OTHER_STATEMENTS = {
    "EXPLAIN": "leave EXPLAIN out, and run `penstock explain` on the file",
    "INSERT": "a stream takes its rows from USING format OPTIONS (...)",
}

RATE_HINT = "for example RATE 1000 PER SECOND, or RATE BETWEEN 500 AND 1000 PER SECOND"
WITHIN_HINT = "write WITHIN n ROWS, WITHIN t SECONDS, or INFERRED to have that found while the query runs"
PARAMETERS_HINT = "for example INFERRED (c 1.2, p 0.01, w 1000, threshold 100000), any of them"

#: Of a monitor: of which type each is, what it may be, and how that is said.
PARAMETERS: dict[str, tuple[type[int] | type[float], Callable[[float], bool], str]] = {
    "c": (float, lambda c: c >= 1, "a number from 1 on"),
    "p": (float, lambda p: 0 < p <= 1, "a number above 0 and up to 1"),
    "w": (int, lambda w: w >= 1, "a number of rows from 1 on"),
    "threshold": (int, lambda threshold: threshold >= 0, "a number of rows"),
}

#: The passes over a query recurse into it; this depth is safe for all of them, wherever they are called from.
MOST_LEVELS = 150
#: sqlglot takes some twenty calls for each of them, and Python has a thousand.
MOST_BRACKETS = 32

_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET)
_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET)


class StatementParser(QueryParser):
    """The grammar of statements. Each method reads what its name says and gives a value of `syntax`."""

    def read_statement(self) -> Statement:
        self._first = self._curr
        if self._match(TokenType.CREATE):
            return self.read_create_statement()
        if self._match(TokenType.DROP):
            return self.read_drop_statement()
        if self._match(TokenType.ALTER):
            return self.read_alter_statement()
        if self._curr and not self._at_query():
            word = self._curr.text.upper()
            hint = did_you_mean(word, STATEMENTS)
            self.fault(f"{self._curr.text} starts no statement", hint or OTHER_STATEMENTS.get(word, STATEMENT_HINT))
        query = self.read_query("a query")
        on_close, allowed = self.read_emission()
        return CreateQuery(self._span(), "CREATE", None, query, allowed, on_close)

    def read_create_statement(self) -> Statement:
        replace = self._match_text_seq("OR", "REPLACE")
        kind = self._curr
        if not kind:
            self.fault("expected what to create", f"CREATE makes a {CREATABLE}")
        self._advance()
        creation: Creation = "CREATE OR REPLACE" if replace else "CREATE"
        if self._match_text_seq("IF", "NOT", "EXISTS"):
            creation = "CREATE IF NOT EXISTS"
        match kind.text.upper():
            case "STREAM":
                return self.read_create_stream(creation)
            case "TABLE":
                return self.read_create_table(creation)
            case "VIEW":
                return self.read_create_view(creation)
            case "QUERY":
                return self.read_create_query(creation)
            case "ASSERTION":
                return self.read_create_assertion(creation)
        self.fault(f"cannot create {kind.text}", f"CREATE makes a {CREATABLE}", kind)

    def read_create_stream(self, creation: Creation) -> CreateStream:
        name = self.read_name("the stream's name")
        elements = self.read_elements()
        timestamp: Name | None = None
        delay: int | None = None
        connector: Connector | None = None
        while self._curr:
            if timestamp is None and self._match_text_seq("TIMESTAMP"):
                self._expect_words("BY")
                timestamp = self.read_name("the timestamp's column")
                if self._match_text_seq("DELAY"):
                    delay = self.read_duration("DELAY")
            elif connector is None and self._match(TokenType.USING):
                connector = self.read_connector()
            else:
                self._unexpected("TIMESTAMP BY column [DELAY time] and USING format OPTIONS (...) follow the columns")
        return CreateStream(self._span(), creation, name, elements, timestamp, delay, connector)

    def read_create_table(self, creation: Creation) -> CreateTable:
        name = self.read_name("the table's name")
        elements = self.read_elements()
        connector = self.read_connector() if self._match(TokenType.USING) else None
        if self._match_text_seq("TIMESTAMP", advance=False):
            self.fault("a table has no timestamp: it is the same at every instant", "CREATE STREAM makes a stream")
        return CreateTable(self._span(), creation, name, elements, connector)

    def read_create_view(self, creation: Creation) -> CreateView:
        name = self.read_name("the view's name")
        if self._match(TokenType.L_PAREN, advance=False):
            self.fault("a view takes the names of its columns from its query", "name them there: SELECT a AS x")
        self._expect(TokenType.ALIAS, "AS")
        query = self.read_query("the view's query")
        return CreateView(self._span(), creation, name, query)

    def read_create_query(self, creation: Creation) -> CreateQuery:
        name = self.read_name("the query's name")
        allowed = self.read_allow_unbounded()
        self._expect(TokenType.ALIAS, "AS", "write CREATE QUERY name AS SELECT ...")
        query = self.read_query("the query")
        on_close, also_allowed = self.read_emission()
        return CreateQuery(self._span(), creation, name, query, allowed or also_allowed, on_close)

    def read_create_assertion(self, creation: Creation) -> CreateAssertion:
        """`FOR stream variable, ... [WHERE premise] THEN [EXISTS stream variable, ... WHERE] conclusion`."""
        name = self.read_name("the assertion's name")
        self._expect_words("FOR")
        each = self.read_variables()
        premise = self.read_predicate("WHERE") if self._match(TokenType.WHERE) else None
        self._expect(TokenType.THEN, "THEN", "an assertion is FOR stream variable, ... WHERE premise THEN conclusion")
        some: tuple[VariableDef, ...] = ()
        if self._match(TokenType.EXISTS):
            some = self.read_variables()
            self._expect(TokenType.WHERE, "WHERE")
        conclusion = self.read_predicate("THEN" if not some else "WHERE")
        return CreateAssertion(self._span(), creation, name, each, premise, some, conclusion)

    def read_variables(self) -> tuple[VariableDef, ...]:
        def variable() -> VariableDef:
            stream = self.read_name("a stream's name")
            self._match(TokenType.ALIAS)
            named = self._curr and self._curr.token_type not in (TokenType.COMMA, TokenType.WHERE, TokenType.THEN)
            return VariableDef(stream, self.read_name("a variable") if named else stream)

        return self._separated(variable)

    def read_drop_statement(self) -> Drop:
        kind = self._curr
        if not kind or kind.text.upper() not in DROPPABLE:
            self.fault("cannot drop this", f"DROP takes a {CREATABLE}")
        self._advance()
        if_exists = bool(self._match_text_seq("IF", "EXISTS"))
        name = self.read_name(f"the {kind.text.lower()}'s name")
        return Drop(self._span(), kind.text.upper(), name, if_exists)

    def read_alter_statement(self) -> AlterStream:
        if not self._match_text_seq("STREAM"):
            self.fault("cannot alter this", "write ALTER STREAM name ADD constraint")
        name = self.read_name("the stream's name")
        self._expect_words("ADD")
        added = self._separated(self.read_required_constraint)
        return AlterStream(self._span(), name, added)

    def read_required_constraint(self) -> ConstraintClause:
        constraint = self.read_constraint()
        if constraint is None:
            self.fault("this is not a constraint", CONSTRAINT_HINT)
        return constraint

    def read_elements(self) -> tuple[ColumnDef | ConstraintClause, ...]:
        self._expect(TokenType.L_PAREN, "columns in parentheses", "write (name TYPE, ...)")
        elements = self._separated(self.read_element)
        self._expect(TokenType.R_PAREN, ")")
        return elements

    def read_element(self) -> ColumnDef | ConstraintClause:
        constraint = self.read_constraint()
        if constraint is not None:
            return constraint
        start = self._curr
        virtual = self._is_start("VIRTUAL", self._next.text.upper()) and self._is_name_token(self._next)
        after = self._tokens[self._index + 2 : self._index + 3]
        if virtual and after and after[0].token_type in (TokenType.COMMA, TokenType.L_PAREN, TokenType.R_PAREN):
            virtual = False  # a column of the name virtual, and its type
        if virtual:
            self._advance()
        name = self.read_name("a column's name")
        type_ = self.read_type(name)
        if self._curr and self._curr.token_type not in (TokenType.COMMA, TokenType.R_PAREN):
            self._refuse_column_option()
        return ColumnDef(name, type_, self._span(start), virtual)

    def read_type(self, column: Name) -> Tree:
        """A type. One that there is not is kept, so that the binder can say so beside other errors."""
        token = self._curr
        type_: Tree | None = self._parse_types()
        if isinstance(type_, exp.DataType):
            return type_
        if not self._is_name_token(token):
            self.fault(f"expected a type after {column.text}", token=token)
        self._advance()
        return exp.Var(this=token.text).update_positions(token)

    def _refuse_column_option(self) -> None:
        words = self._curr.text.upper()
        hints = {
            "NOT": "leave NOT NULL out: every column may hold NULL",
            "NULL": "leave NULL out: every column may hold NULL",
            "PRIMARY KEY": "write UNIQUE (column) as an element of its own",
            "UNIQUE": "write UNIQUE (column) as an element of its own",
            "REFERENCES": "write FOREIGN KEY (column) REFERENCES ... as an element of its own",
        }
        self._unexpected(hints.get(words, "a column has a name and a type"))

    def read_constraint(self) -> ConstraintClause | None:
        start = self._curr
        if self._is_start("UNIQUE", TokenType.L_PAREN):
            self._advance()
            columns = self.read_names()
            return UniqueClause(self._span(start), columns)
        if self._match(TokenType.FOREIGN_KEY):
            return self.read_reference(start)
        if self._match(TokenType.PRIMARY_KEY):
            self.fault("PRIMARY KEY is not a constraint here", "write UNIQUE (column)", start)
        if self._is_start("CLUSTERED", "BY"):
            self._advance(2)
            columns = self.read_names()
            within = self.read_within("CLUSTERED BY")
            on_violation = self.read_on_violation(within)
            return ClusteredClause(self._span(start), columns, within, on_violation)
        if self._is_start("ORDERED", "BY"):
            self._advance(2)
            columns = self.read_names()
            if len(columns) > 1:
                self.fault("ORDERED BY takes one column", "write one ORDERED BY for each column", start)
            within = self.read_within("ORDERED BY")
            on_violation = self.read_on_violation(within)
            return OrderedClause(self._span(start), columns[0], within, on_violation)
        if self._is_start("PUNCTUATED", "BY"):
            self._advance(2)
            return self.read_punctuated(start)
        if self._is_start("RATE", TokenType.NUMBER) or self._is_start("RATE", "BETWEEN"):
            self._advance()
            return self.read_rate(start)
        return None

    def read_rate(self, start: Token) -> RateClause:
        """`RATE 1000 PER SECOND`, `RATE BETWEEN 500 AND 1000 PER 10 SECONDS`."""
        least: int | None = None
        if self._match(TokenType.BETWEEN):
            least = self.read_count("RATE takes", least=0)
            self._expect(TokenType.AND, "AND", RATE_HINT)
        at = self._curr
        most = self.read_count("RATE takes")
        if least is not None and least > most:
            self.fault(f"at least {least} rows are more than at most {most}", RATE_HINT, at)
        self._match_texts(("ROW", "ROWS"))
        if not self._match_text_seq("PER"):
            self.fault("expected PER and a time", RATE_HINT)
        at = self._curr
        counted_over = self._match(TokenType.NUMBER, advance=False)
        per = self.read_duration("PER") if counted_over else self.read_unit("PER", self._prev)
        if per == 0:
            self.fault("a rate is counted over some time", RATE_HINT, at)
        return RateClause(self._span(start), most, least, per)

    def read_reference(self, start: Token) -> ReferenceClause:
        columns = self.read_names()
        self._expect(TokenType.REFERENCES, "REFERENCES")
        parent = self.read_name("the stream that is referred to")
        parent_columns = self.read_names()
        if len(columns) != len(parent_columns):
            here, there = counted(len(columns), "column"), counted(len(parent_columns), "column")
            message = f"FOREIGN KEY lists {here} here and {there} of {parent.text}"
            self.fault(message, "each column refers to one", start)
        ends = not self._curr or self._curr.token_type in (TokenType.COMMA, TokenType.R_PAREN)
        within = None if ends else self.read_within("FOREIGN KEY")
        on_violation = self.read_on_violation(within)
        return ReferenceClause(self._span(start), columns, parent, parent_columns, within, on_violation)

    def read_punctuated(self, start: Token) -> PunctuatedClause:
        columns = self.read_names()
        when: Tree | None = None
        source: Name | None = None
        source_columns: Names = ()
        if self._match(TokenType.WHEN):
            when = self.read_predicate("WHEN")
        elif self._match(TokenType.FROM):
            source = self.read_name("the stream of punctuations")
            source_columns = self.read_names()
            if len(columns) != len(source_columns):
                here, there = counted(len(columns), "column"), counted(len(source_columns), "column")
                message = f"PUNCTUATED BY lists {here} here and {there} of {source.text}"
                self.fault(message, "each column takes its values from one", start)
        lifespan = self.read_duration("LIFESPAN") if self._match_text_seq("LIFESPAN") else None
        on_violation = self.read_on_violation(None)
        if on_violation is OnViolation.WIDEN:
            self.fault("a punctuation has no k that could be widened", "write WARN or ERROR", self._prev)
        if on_violation is OnViolation.IGNORE:
            self.fault("a row that a punctuation rules out is never ignored", "write WARN or ERROR", self._prev)
        return PunctuatedClause(self._span(start), columns, when, source, source_columns, lifespan, on_violation)

    def read_on_violation(self, within: Within | None) -> OnViolation | None:
        """`ON VIOLATION ERROR`, if it stands there."""
        start = self._curr
        if not self._match_text_seq("ON", "VIOLATION"):
            return None
        if isinstance(within, Inferred):
            hint = "leave ON VIOLATION out, or write WITHIN and ON VIOLATION WIDEN"
            self.fault("what is INFERRED cannot be violated: its k follows the rows", hint, start)
        word = self._take_word("WARN, ERROR, WIDEN or IGNORE").upper()
        if word not in OnViolation.__members__:
            self.fault(f"ON VIOLATION cannot {word}", "write WARN, ERROR, WIDEN or IGNORE", self._prev)
        return OnViolation[word]

    def read_within(self, after: str) -> Within:
        if self._match_text_seq("INFERRED"):
            return self.read_parameters() if self._match(TokenType.L_PAREN) else Inferred()
        if self._match_text_seq("LATENCY"):
            return WithinTime(self.read_duration("LATENCY"), is_latency=True)
        if not self._match_text_seq("WITHIN"):
            self.fault(f"{after} needs WITHIN or INFERRED", WITHIN_HINT)
        # ROWS comes behind the number, so look before it is read: past a sign, too.
        at = self._index + (1 if self._match(TokenType.DASH, advance=False) else 0) + 1
        unit = self._tokens[at].text.upper() if at < len(self._tokens) else ""
        if unit in ("ROW", "ROWS"):
            k = self.read_count("WITHIN takes", least=0)
            self._advance()
            return WithinRows(k)
        if self._match(TokenType.NUMBER, advance=False) and unit in (",", ")", ""):
            self.fault("expected ROWS or a unit of time", f"units are ROWS, {UNIT_NAMES}")
        return WithinTime(self.read_duration("WITHIN"))

    def read_parameters(self) -> Inferred:
        """`(c 1.2, w 1000)`, of a monitor."""
        given = self._separated(self.read_parameter)
        self._expect(TokenType.R_PAREN, ")")
        for number, (name, _) in enumerate(given):
            if name in dict(given[:number]):
                self.fault(f"the parameter {name} is given twice", token=self._prev)
        parameters: dict[str, Any] = dict(given)
        return Inferred(**parameters)

    def read_parameter(self) -> tuple[str, float]:
        name = self._take_word("a parameter of INFERRED").lower()
        if name not in PARAMETERS:
            self.fault(f"INFERRED has no parameter {name}", PARAMETERS_HINT, self._prev)
        number = self._curr
        if not self._match(TokenType.NUMBER):
            self.fault(f"expected a number for {name}", PARAMETERS_HINT)
        kind, accepts, wanted = PARAMETERS[name]
        if (kind is int and not number.text.isdecimal()) or not accepts(float(number.text)):
            self.fault(f"{name} takes {wanted}", PARAMETERS_HINT, number)
        return name, kind(number.text)

    def read_connector(self) -> Connector:
        format_ = self.read_name("a format such as parquet, json, csv or kafka").text
        if not self._match_text_seq("OPTIONS"):
            return Connector(format_)
        self._expect(TokenType.L_PAREN, "(")
        options = self._separated(self.read_option)
        self._expect(TokenType.R_PAREN, ")")
        for number, (key, _) in enumerate(options):
            if any(key.lower() == other.lower() for other, _ in options[:number]):
                self.fault(f"the option {key} is given twice", token=self._prev)
        return Connector(format_, options)

    def read_option(self) -> tuple[str, str]:
        """`path 'data/bid'`, `kafka.bootstrap.servers = 'host:9092'` or `'header' true`."""
        key = self._take_word("an option's name")
        while self._match(TokenType.DOT):
            key += f".{self._take_word('the rest of the option')}"
        self._match(TokenType.EQ)
        sign = "-" if self._match(TokenType.DASH) else ""
        token = self._curr
        if not token or token.token_type in (TokenType.COMMA, TokenType.R_PAREN):
            self.fault(f"expected a value for the option {key}", f"write {key} 'value'")
        self._advance()
        return key, sign + token.text

    def _take_word(self, what: str) -> str:
        token = self._curr
        if not token or token.token_type in (TokenType.COMMA, TokenType.R_PAREN, TokenType.L_PAREN):
            self.fault(f"expected {what}")
        self._advance()
        return token.text

    def read_query(self, what: str) -> Tree:
        start = self._curr
        if not self._at_query():
            self.fault(f"expected {what}, which starts with SELECT")
        query = self._parse_select(nested=True)
        query = self._parse_query_modifiers(self._parse_set_operations(query))
        if not isinstance(query, exp.Query):
            self.fault(f"expected {what}, which starts with SELECT")
        self._refuse_depth(query, start)
        return query

    def _at_query(self) -> bool:
        starts = (TokenType.SELECT, TokenType.L_PAREN, TokenType.WITH)
        return bool(self._curr) and self._curr.token_type in starts

    def read_predicate(self, after: str) -> Tree:
        start = self._curr
        predicate = self._parse_disjunction()
        if predicate is None:
            self.fault(f"expected a condition after {after}")
        self._refuse_depth(predicate, start)
        return predicate

    def _refuse_depth(self, tree: Tree, start: Token) -> None:
        if _levels(tree) > MOST_LEVELS:
            self.fault(f"this is nested too deeply: {MOST_LEVELS} levels are the most", "split it with views", start)

    def read_emission(self) -> tuple[Span | None, bool]:
        """`EMIT ON CLOSE` and `ALLOW UNBOUNDED`, in any order: where the first stands, and whether the second does."""
        allowed = self.read_allow_unbounded()
        start = self._curr
        if not self._match_text_seq("EMIT"):
            return None, allowed
        if not self._match_text_seq("ON", "CLOSE"):
            self.fault("expected ON CLOSE after EMIT", "EMIT ON CLOSE gives each group once, when it closes")
        span = Span(start.start, self._prev.end + 1)
        return span, self.read_allow_unbounded() or allowed

    def read_allow_unbounded(self) -> bool:
        return bool(self._match_text_seq("ALLOW", "UNBOUNDED"))

    def read_names(self) -> Names:
        """`(a, b)`, or just `a`."""
        if not self._match(TokenType.L_PAREN):
            return (self.read_name("a column's name"),)
        names = self._separated(lambda: self.read_name("a column's name"))
        self._expect(TokenType.R_PAREN, ")")
        return names

    def read_name(self, what: str) -> Name:
        token = self._curr
        if not self._is_name_token(token):
            is_word = bool(token) and token.text.isidentifier() and token.token_type is not TokenType.STRING
            self.fault(f"expected {what}", f"in backquotes it may be a name: `{token.text}`" if is_word else None)
        self._advance()
        if self._match(TokenType.DOT, advance=False):
            self.fault("names have one part here", "there are no databases or catalogs to name")
        return Name(token.text, token_span(token), token.token_type is TokenType.IDENTIFIER)

    def _is_name_token(self, token: Token | None) -> bool:
        return (
            token is not None
            and bool(token)
            and (token.token_type is TokenType.IDENTIFIER or token.token_type in self.ID_VAR_TOKENS)
        )

    def _is_start(self, word: str, following: str | TokenType) -> bool:
        token, after = self._curr, self._next
        if not token or not after or token.token_type is TokenType.IDENTIFIER or token.text.upper() != word:
            return False
        if isinstance(following, TokenType):
            return after.token_type is following
        return bool(after.text.upper() == following)

    def _separated(self, parse: Callable[[], T]) -> tuple[T, ...]:
        items = [parse()]
        while self._match(TokenType.COMMA):
            items.append(parse())
        return tuple(items)

    def _expect(self, kind: TokenType, text: str, hint: str | None = None) -> None:
        if not self._match(kind):
            self.fault(f"expected {text}", hint)

    def _expect_words(self, word: str) -> None:
        if not self._match_text_seq(word):
            self.fault(f"expected {word}")

    def _unexpected(self, hint: str) -> None:
        self.fault(f"{self._curr.text} is not expected here", hint)

    def _span(self, start: Token | None = None) -> Span:
        first = start or self._first
        return Span(first.start, self._prev.end + 1)


CONSTRAINT_HINT = "constraints are UNIQUE, FOREIGN KEY ... REFERENCES, CLUSTERED BY, ORDERED BY, PUNCTUATED BY and RATE"


class Penstock(Spark):
    """The dialect."""

    class Tokenizer(Spark.Tokenizer):
        # 'it''s' is it's, as in Spark 4 and in standard SQL.
        STRING_ESCAPES: ClassVar[list[str]] = ["'", "\\"]
        # Without these a statement such as SHOW would be swallowed as an opaque command.
        COMMANDS: ClassVar[set[TokenType]] = set()

    Parser = StatementParser
    Generator = QueryGenerator


DIALECT = Penstock()

# sqlglot logs what it cannot parse; we say it ourselves.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)


@dataclass(frozen=True, slots=True)
class Parsed:
    """The statements of a text that could be parsed, the errors of the others, and the names that those declare."""

    statements: tuple[Statement, ...]
    errors: tuple[SqlError, ...]
    broken: frozenset[str] = frozenset()


def parse_script(source: Source) -> Parsed:
    try:
        tokens = DIALECT.tokenize(source.text)
    except (TokenError, RecursionError):
        return Parsed((), (unreadable(source),))
    statements: list[Statement] = []
    errors: list[SqlError] = []
    broken: set[str] = set()
    for chunk in _chunks(tokens):
        try:
            statements.append(_parse_chunk(source, chunk))
        except SqlError as error:
            errors.append(error)
            broken.update(_declared(chunk))
    return Parsed(tuple(statements), tuple(errors), frozenset(broken))


def _levels(tree: Tree) -> int:
    """How deep a tree is, where a chain of AND, OR or || is one level."""
    deepest, trees = 0, [(tree, 1)]
    while trees:
        node, level = trees.pop()
        deepest = max(deepest, level)
        for part in node.iter_expressions():
            in_chain = type(part) is type(node) and isinstance(node, (exp.And, exp.Or, exp.DPipe))
            trees.append((part, level if in_chain else level + 1))
    return deepest


def _declared(tokens: list[Token]) -> Iterator[str]:
    """The name that a CREATE which could not be parsed would have declared."""
    words = [token.text for token in tokens[:8]]
    upper = [word.upper() for word in words]
    for kind in DROPPABLE:
        if upper[:1] == ["CREATE"] and kind in upper:
            at = upper.index(kind) + 1
            at += 3 if upper[at : at + 3] == ["IF", "NOT", "EXISTS"] else 0
            yield from (word.lower() for word in words[at : at + 1])


def _chunks(tokens: list[Token]) -> Iterator[list[Token]]:
    chunk: list[Token] = []
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            if chunk:
                yield chunk
            chunk = []
        else:
            chunk.append(token)
    if chunk:
        yield chunk


def _refuse_tokens(source: Source, tokens: list[Token]) -> None:
    """Refuses names that sqlglot would take, and brackets that are too many for it."""
    depth = 0
    for token in tokens:
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        if depth > MOST_BRACKETS:
            raise nested_too_deeply(source, token_span(token))
        if token.token_type is TokenType.IDENTIFIER and not token.text:
            raise SqlError("a name is not empty", None, source, token_span(token))


def _parse_chunk(source: Source, tokens: list[Token]) -> Statement:
    _refuse_tokens(source, tokens)
    parser = StatementParser(dialect=DIALECT)
    end = Span(tokens[-1].end + 1, tokens[-1].end + 1)
    try:
        parsed = parser._parse(StatementParser.read_statement, tokens, source.text)  # type: ignore[arg-type]
        if not parsed:  # sqlglot takes ELSE for the end of what it knows
            raise SqlError(f"{tokens[0].text} starts no statement", STATEMENT_HINT, source, token_span(tokens[0]))
        return parsed[0]  # type: ignore[return-value]
    except Fault as fault:
        span = token_span(fault.token) if fault.token else end
        raise syntax_error(source, fault, span, at_end=not parser._curr) from None
    except RecursionError:
        raise nested_too_deeply(source, token_span(parser._curr or tokens[0])) from None
    except SqlError:
        raise
    except Exception as error:
        # sqlglot meets some broken inputs with errors of its own (AttributeError, ValueError, ...). Whatever it is, the
        # user sees a place and no traceback.
        place = parser._curr if parser._curr else tokens[-1]
        raise SqlError("this cannot be parsed", None, source, token_span(place)) from error


def token_span(token: Token) -> Span:
    return Span(token.start, token.end + 1)
