"""The grammar of statements: CREATE, ALTER, DROP, and queries through the dialect."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from penstock.algebra.join_trees import parsed
from penstock.algebra.relations import ADAPTIVE_MODES, Approximate
from penstock.catalog import Connector, OnViolation
from penstock.errors import Span
from penstock.sql.constraint_grammar import ConstraintParser
from penstock.sql.diagnostics import did_you_mean
from penstock.sql.syntax import (
    AlterStream,
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
    QueryClauses,
    QueryOptions,
    Statement,
    Tree,
    VariableDef,
)
from penstock.sql.syntax_errors import STATEMENTS
from penstock.types import TimeUnit

DROPPABLE = ("STREAM", "TABLE", "VIEW", "QUERY", "ASSERTION")
CREATABLE = "STREAM, TABLE, VIEW, QUERY or ASSERTION"

STATEMENT_HINT = "statements are CREATE, ALTER, DROP and SELECT"
OTHER_STATEMENTS = {
    "EXPLAIN": "leave EXPLAIN out, and run `penstock explain` on the file",
    "INSERT": "a stream takes its rows from USING format OPTIONS (...)",
}


class StatementParser(ConstraintParser):
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
        clauses = self.read_clauses()
        return CreateQuery(
            self._span(), "CREATE", None, query, clauses.allowed, clauses.on_close, approximate=clauses.approximate
        )

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
        idle: int | None = None
        connector: Connector | None = None
        unit: tuple[TimeUnit, Span] | None = None
        while self._curr:
            if timestamp is None and self._match_text_seq("TIMESTAMP"):
                self._expect_words("BY")
                timestamp = self.read_name("the timestamp's column")
                unit = self.read_time_unit()
                if self._match_text_seq("DELAY"):
                    delay = self.read_duration("DELAY")
                if self._match_text_seq("IDLE"):
                    idle = self.read_idle()
            elif connector is None and self._match(TokenType.USING):
                connector = self.read_connector()
            else:
                timed = "TIMESTAMP BY column [unit] [DELAY time] [IDLE AFTER time]"
                hint = f"{timed} and USING format OPTIONS (...) follow the columns"
                self._unexpected(self._meant_unit() or hint)
        return CreateStream(self._span(), creation, name, elements, timestamp, delay, connector, unit, idle)

    def read_idle(self) -> int:
        """The rest of `IDLE AFTER 30 SECONDS`, in microseconds."""
        self._expect_words("AFTER")
        number = self._curr
        idle = self.read_duration("IDLE AFTER")
        if idle == 0:
            hint = "for example IDLE AFTER 30 SECONDS; without it other streams always wait for this one"
            self.fault("IDLE AFTER takes a time that is more than zero", hint, number)
        return idle

    def read_time_unit(self) -> tuple[TimeUnit, Span] | None:
        """`SECONDS`, `MILLISECONDS` or another unit, if one is there."""
        for unit in TimeUnit:
            start = self._curr
            if self._match_text_seq(unit.name):
                return unit, Span(start.start, start.end + 1)
        return None

    def _meant_unit(self) -> str | None:
        """What is meant where a word stands right behind the timestamp's column that is almost a unit."""
        units = [unit.name for unit in TimeUnit]
        word = self._curr.text.upper()
        return f"units of time are {', '.join(units)}" if f"{word}S" in units else did_you_mean(word, units, 0.8)

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
        options = self.read_query_options()
        allowed = self.read_allow_unbounded() or allowed
        self._expect(TokenType.ALIAS, "AS", "write CREATE QUERY name AS SELECT ...")
        query = self.read_query("the query")
        clauses = self.read_clauses()
        allowed = allowed or clauses.allowed
        return CreateQuery(self._span(), creation, name, query, allowed, clauses.on_close, options, clauses.approximate)

    def read_query_options(self) -> QueryOptions:
        """`WITH (adaptive = 'off', plan = '((a b) c)')`."""
        options = QueryOptions()
        if not self._match(TokenType.WITH):
            return options
        self._expect(TokenType.L_PAREN, "( after WITH", "write WITH (adaptive = 'off')")
        while True:
            options = self.read_query_option(options)
            if not self._match(TokenType.COMMA):
                break
        self._expect(TokenType.R_PAREN, ")", "close WITH (adaptive = 'off')")
        return options

    def read_query_option(self, options: QueryOptions) -> QueryOptions:
        key = self._take_word("an option's name")
        named = self._prev
        if key.lower() in ("adaptive", "early") and getattr(options, key.lower()) is not None:
            self.fault(f"the option {key.lower()} is given twice", "leave one of them out", token=named)
        self._match(TokenType.EQ)
        token = self._curr
        match key.lower():
            case "adaptive":
                mode = token.text.lower() if token else ""
                if mode not in ADAPTIVE_MODES:
                    self.fault("expected how far the query adapts", f"write {', '.join(map(repr, ADAPTIVE_MODES))}")
                self._advance()
                return replace(options, adaptive=mode)
            case "early":
                how = token.text.lower() if token else ""
                if how not in ("on", "off"):
                    self.fault("expected whether results come early", "write 'on' or 'off'")
                self._advance()
                return replace(options, early=how == "on")
            case "plan":
                if not token or token.token_type is not TokenType.STRING:
                    self.fault("expected a tree of joins", "write WITH (plan = '((a b) c)')")
                self._advance()
                try:
                    tree = parsed(token.text)
                except ValueError as reason:
                    self.fault(f"this is no tree of joins: {reason}", "write WITH (plan = '((a b) c)')", token=token)
                return replace(options, trees=(*options.trees, (tree, Span(token.start, token.end + 1))))
        self.fault(f"a query has no option {key}", "its options are adaptive, early and plan", token=named)

    def read_create_assertion(self, creation: Creation) -> CreateAssertion:
        """`FOR stream variable, ... [WHERE premise] THEN [EXISTS stream variable, ... WHERE] conclusion ...`."""
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
        on_violation = self.read_on_violation(None)
        if on_violation is OnViolation.WIDEN:
            self.fault("an assertion has no k that could grow", "write WARN, ERROR or IGNORE", self._prev)
        return CreateAssertion(self._span(), creation, name, each, premise, some, conclusion, on_violation)

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
        not_null, key = bool(self._match_text_seq("NOT", "NULL")), self.read_key()
        not_null = bool(self._match_text_seq("NOT", "NULL")) or not_null
        if self._curr and self._curr.token_type not in (TokenType.COMMA, TokenType.R_PAREN):
            self._refuse_column_option()
        if key and virtual:
            self.fault(f"{name.text} is virtual: no row has it", f"leave {key} out", start)
        return ColumnDef(name, type_, self._span(start), virtual, not_null, key)

    def read_key(self) -> str:
        """`UNIQUE` or `PRIMARY KEY` behind a column's type."""
        if self._match(TokenType.PRIMARY_KEY):
            return "PRIMARY KEY"
        return "UNIQUE" if self._match_text_seq("UNIQUE") else ""

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
            "NOT": "a column that holds no NULL is NOT NULL",
            "NULL": "leave NULL out: a column without NOT NULL may hold NULL",
            "REFERENCES": "write FOREIGN KEY (column) REFERENCES ... as an element of its own",
        }
        self._unexpected(hints.get(words, "a column has a name and a type, and may be NOT NULL"))

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

    def read_clauses(self) -> QueryClauses:
        """`APPROXIMATE`, `EMIT ON CLOSE` and `ALLOW UNBOUNDED` behind a query, each at most once, in any order."""
        clauses = QueryClauses()
        while True:
            start = self._curr
            if not clauses.allowed and self.read_allow_unbounded():
                clauses = replace(clauses, allowed=True)
            elif clauses.on_close is None and self._match_text_seq("EMIT"):
                if not self._match_text_seq("ON", "CLOSE"):
                    self.fault("expected ON CLOSE after EMIT", "EMIT ON CLOSE gives each group once, when it closes")
                clauses = replace(clauses, on_close=Span(start.start, self._prev.end + 1))
            elif clauses.approximate is None and self._match_text_seq("APPROXIMATE"):
                read = self.read_tolerance()
                clauses = replace(clauses, approximate=(read, Span(start.start, self._prev.end + 1)))
            else:
                return clauses

    def read_tolerance(self) -> Approximate:
        """`WITHIN n`, `WITHIN n PERCENT`, or nothing."""
        if not self._match_text_seq("WITHIN"):
            return Approximate()
        hint = "write APPROXIMATE WITHIN 100, or APPROXIMATE WITHIN 2 PERCENT"
        number = self._curr
        if not number or number.token_type is not TokenType.NUMBER:
            self.fault("expected a number after WITHIN", hint)
        self._advance()
        percent = bool(self._match_text_seq("PERCENT"))
        if not percent and not number.text.isdecimal():
            self.fault(f"{number.text} is not a whole number of rows", hint, token=number)
        return Approximate(Decimal(number.text), percent)

    def read_allow_unbounded(self) -> bool:
        return bool(self._match_text_seq("ALLOW", "UNBOUNDED"))
