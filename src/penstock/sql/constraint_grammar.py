"""The grammar of what is declared of a stream: keys, references, punctuations, k-constraints and rates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot.tokenizer_core import Token, TokenType

from penstock.catalog import Inferred, OnViolation, Within, WithinRows, WithinTime
from penstock.sql.diagnostics import counted
from penstock.sql.dialect import UNIT_NAMES
from penstock.sql.syntax import (
    ClusteredClause,
    ConstraintClause,
    Name,
    Names,
    NotNullClause,
    OrderedClause,
    PunctuatedClause,
    RateClause,
    ReferenceClause,
    Tree,
    UniqueClause,
)
from penstock.sql.words import WordParser

CONSTRAINT_HINT = (
    "constraints are UNIQUE, PRIMARY KEY, NOT NULL, FOREIGN KEY ... REFERENCES, CLUSTERED BY, ORDERED BY, "
    "PUNCTUATED BY and RATE"
)
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


class ConstraintParser(WordParser):
    """Each method reads what its name says and gives a value of `syntax` or of the catalog."""

    def read_required_constraint(self) -> ConstraintClause:
        constraint = self.read_constraint()
        if constraint is None:
            self.fault("this is not a constraint", CONSTRAINT_HINT)
        return constraint

    def read_constraint(self) -> ConstraintClause | None:
        start = self._curr
        if self._is_start("UNIQUE", TokenType.L_PAREN):
            self._advance()
            columns = self.read_names()
            return UniqueClause(self._span(start), columns)
        if self._is_start("NOT", "NULL"):
            self._advance(2)
            columns = self.read_names()
            return NotNullClause(self._span(start), columns)
        if self._match(TokenType.FOREIGN_KEY):
            return self.read_reference(start)
        if self._match(TokenType.PRIMARY_KEY):
            columns = self.read_names()
            return UniqueClause(self._span(start), columns, is_primary=True)
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
