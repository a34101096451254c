"""A text as statements. It is cut at its semicolons, and each piece is parsed by itself, so that an error in one does
not hide those in the others.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from penstock.errors import Source, Span, SqlError
from penstock.sql.diagnostics import nested_too_deeply
from penstock.sql.dialect import Fault
from penstock.sql.generator import QueryGenerator
from penstock.sql.statement_grammar import DROPPABLE, STATEMENT_HINT, StatementParser
from penstock.sql.syntax import Statement
from penstock.sql.syntax_errors import syntax_error
from penstock.sql.unreadable import unreadable
from penstock.sql.words import token_span

#: sqlglot takes some twenty calls for each of them, and Python has a thousand.
MOST_BRACKETS = 32

_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET)
_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET)


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
    tokens: Sequence[Token] = ()
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
    return Parsed(tuple(statements), tuple(errors), tokens, frozenset(broken))


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
