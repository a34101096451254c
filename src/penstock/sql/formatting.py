"""`penstock fmt`: statements printed back in one normal form.

The text of the normal form binds to the same algebra as the text that it came from. All comments stay, with the part
of the statement that they stand at.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from penstock.algebra.join_trees import tree_text
from penstock.catalog import Connector, Inferred, Within, WithinRows, inferred_text, rate_text
from penstock.errors import Source, SqlErrors
from penstock.sql.comments import Comment, StatementLayout, comments, place_comments
from penstock.sql.generator import QueryGenerator, TallGenerator
from penstock.sql.statements import DIALECT, parse_script
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
    NotNullClause,
    OrderedClause,
    PunctuatedClause,
    RateClause,
    ReferenceClause,
    Statement,
    Tree,
    UniqueClause,
    VariableDef,
)
from penstock.types import duration_text

_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


def format_text(text: str, file: str = "<text>") -> str:
    """Returns the text of statements in normal form, or raises `SqlErrors` if they cannot be parsed.

    >>> import penstock
    >>> print(penstock.format_text("select istream(a) from s [range 60 seconds] x where a>1 -- big ones"), end="")
    SELECT ISTREAM(a)
    FROM s [RANGE 1 MINUTE] AS x
    WHERE a > 1; -- big ones
    """
    parsed = parse_script(Source(file, text))
    if parsed.errors:
        raise SqlErrors(parsed.errors)
    tokens = parsed.tokens
    left = deque(comments(text, tokens))
    blocks: list[str] = []
    for statement, (start, end) in zip(parsed.statements, _chunks(tokens), strict=True):
        before = _taken(left, start, leading=True)
        own = _taken(left, end, leading=False)
        inside = [replace(c, before=c.before - start) for c in own]
        blocks.append(_above(before) + _block(statement, tokens[start:end], inside))
    if left:
        blocks.append(_above(left).rstrip())
    return "\n\n".join(blocks) + "\n" if blocks else ""


def _taken(left: deque[Comment], tokens: int, leading: bool) -> list[Comment]:
    """Removes and returns the first comments: those among so many tokens, and those right behind them.

    Without `leading`, a comment behind these tokens that belongs to the token after it is left.
    """
    taken: list[Comment] = []
    while left and (left[0].before < tokens or (left[0].before == tokens and (leading or not left[0].leads))):
        taken.append(left.popleft())
    return taken


def _chunks(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Where each statement's tokens start and end, its semicolon among them."""
    start = 0
    for place, token in enumerate(tokens):
        if token.token_type is TokenType.SEMICOLON:
            if place > start:
                yield start, place + 1
            start = place + 1
    if start < len(tokens):
        yield start, len(tokens)


def _above(before: Iterable[Comment]) -> str:
    return "".join(f"{comment.text}\n\n" if comment.apart else f"{comment.text}\n" for comment in before)


def _block(statement: Statement, old: Sequence[Token], inside: Sequence[Comment]) -> str:
    """The statement with its comments. It is tall only if some comment has no line end of its own otherwise."""
    if not inside:
        return _statement(statement, tall=False)
    compact, tall = (_layout(_statement(statement, tall)) for tall in (False, True))
    placed = place_comments(tall, old, inside)
    return (compact if placed.fit(compact) else tall).with_comments(placed)


def _layout(text: str) -> StatementLayout:
    return StatementLayout(text, DIALECT.tokenize(text))


def _statement(statement: Statement, tall: bool) -> str:
    match statement:
        case CreateStream() | CreateTable():
            text = _create_source(statement)
        case CreateView():
            text = f"{_create('VIEW', statement.creation, statement.name)} AS\n{_query(statement.query, tall)}"
        case CreateQuery():
            text = _create_query(statement, tall)
        case CreateAssertion():
            text = _create_assertion(statement)
        case Drop():
            exists = " IF EXISTS" if statement.if_exists else ""
            text = f"DROP {statement.kind}{exists} {_name(statement.name)}"
        case AlterStream():
            added = ",\n  ".join(_constraint(clause) for clause in statement.added)
            text = f"ALTER STREAM {_name(statement.name)} ADD\n  {added}"
    return f"{text};"


def _create(kind: str, creation: Creation, name: Name) -> str:
    verb = creation if creation == "CREATE OR REPLACE" else "CREATE"
    exists = " IF NOT EXISTS" if creation == "CREATE IF NOT EXISTS" else ""
    return f"{verb} {kind}{exists} {_name(name)}"


def _create_query(statement: CreateQuery, tall: bool) -> str:
    query = _query(statement.query, tall)
    query += f"\n{statement.approximate[0]}" if statement.approximate else ""
    query += "\nEMIT ON CLOSE" if statement.on_close else ""
    allow = "ALLOW UNBOUNDED" if statement.allow_unbounded else ""
    if statement.name is None:
        return f"{query}\n{allow}" if allow else query
    head = _create("QUERY", statement.creation, statement.name)
    options = [f"adaptive = '{statement.options.adaptive}'"] if statement.options.adaptive else []
    if statement.options.early is not None:
        options.append(f"early = '{'on' if statement.options.early else 'off'}'")
    options += [f"plan = '{tree_text(tree)}'" for tree, _ in statement.options.trees]
    with_ = f"WITH ({', '.join(options)})" if options else ""
    return f"{' '.join(filter(None, [head, with_, allow]))} AS\n{query}"


def _create_source(statement: CreateStream | CreateTable) -> str:
    kind = "STREAM" if isinstance(statement, CreateStream) else "TABLE"
    elements = ",\n".join(f"  {_element(element)}" for element in statement.elements)
    text, gap = f"{_create(kind, statement.creation, statement.name)} (\n{elements}\n)", " "
    if isinstance(statement, CreateStream) and statement.timestamp is not None:
        delay = f" DELAY {duration_text(statement.delay)}" if statement.delay else ""
        unit = f" {statement.unit[0].name}" if statement.unit else ""
        idle = f" IDLE AFTER {duration_text(statement.idle)}" if statement.idle else ""
        text, gap = f"{text} TIMESTAMP BY {_name(statement.timestamp)}{unit}{delay}{idle}", "\n"
    return text if statement.connector is None else f"{text}{gap}{connector_text(statement.connector)}"


def _element(element: ColumnDef | ConstraintClause) -> str:
    if isinstance(element, ColumnDef):
        virtual = "VIRTUAL " if element.virtual else ""
        key = f" {element.key}" if element.key else ""
        return f"{virtual}{_name(element.name)} {_sql(element.type)}{' NOT NULL' * element.not_null}{key}"
    return _constraint(element)


def _constraint(clause: ConstraintClause) -> str:
    match clause:
        case UniqueClause():
            return f"{'PRIMARY KEY' if clause.is_primary else 'UNIQUE'} {_names(clause.columns)}"
        case NotNullClause():
            return f"NOT NULL {_names(clause.columns)}"
        case ReferenceClause():
            parent = f"{_name(clause.parent)} {_names(clause.parent_columns)}"
            ends = f"{_within(clause.within)}{_on_violation(clause)}"
            return f"FOREIGN KEY {_names(clause.columns)} REFERENCES {parent}{ends}"
        case ClusteredClause():
            return f"CLUSTERED BY {_names(clause.columns)}{_within(clause.within)}{_on_violation(clause)}"
        case OrderedClause():
            return f"ORDERED BY {_name(clause.column)}{_within(clause.within)}{_on_violation(clause)}"
        case PunctuatedClause():
            return _punctuated(clause)
        case RateClause():
            return rate_text(clause.most, clause.least, clause.per)


def _punctuated(clause: PunctuatedClause) -> str:
    text = f"PUNCTUATED BY {_names(clause.columns)}"
    if clause.when is not None:
        text += f" WHEN {_sql(clause.when)}"
    if clause.source is not None:
        text += f" FROM {_name(clause.source)} {_names(clause.source_columns)}"
    if clause.lifespan is not None:
        text += f" LIFESPAN {duration_text(clause.lifespan)}"
    return text + _on_violation(clause)


def _on_violation(clause: ReferenceClause | ClusteredClause | OrderedClause | PunctuatedClause) -> str:
    return "" if clause.on_violation is None else f" ON VIOLATION {clause.on_violation.value}"


def _within(within: Within | None) -> str:
    match within:
        case None:
            return ""
        case Inferred():
            return f" {inferred_text(within)}"
        case WithinRows(k):
            return f" WITHIN {k} ROWS"
        case _:
            return f" {'LATENCY' if within.is_latency else 'WITHIN'} {duration_text(within.microseconds)}"


def connector_text(connector: Connector) -> str:
    """`USING ...`.

    >>> connector_text(Connector("csv", (("path", "bid.csv"), ("header", "true"))))
    "USING csv OPTIONS (path 'bid.csv', header 'true')"
    """
    format_ = connector.format if _WORD.fullmatch(connector.format) else _backquoted(connector.format)
    if not connector.options:
        return f"USING {format_}"
    options = ", ".join(f"{_option(key)} {_string(value)}" for key, value in connector.options)
    return f"USING {format_} OPTIONS ({options})"


def _option(key: str) -> str:
    return key if all(map(_WORD.fullmatch, key.split("."))) else _string(key)


def _string(text: str) -> str:
    return _sql(exp.Literal.string(text))


def _create_assertion(statement: CreateAssertion) -> str:
    lines = [_create("ASSERTION", statement.creation, statement.name), f"FOR {_variables(statement.each)}"]
    if statement.premise is not None:
        lines.append(f"WHERE {_sql(statement.premise)}")
    some = f"EXISTS {_variables(statement.some)} WHERE " if statement.some else ""
    lines.append(f"THEN {some}{_sql(statement.conclusion)}")
    if statement.on_violation is not None:
        lines.append(f"ON VIOLATION {statement.on_violation.value}")
    return "\n".join(lines)


def _variables(variables: Iterable[VariableDef]) -> str:
    return ", ".join(
        _name(v.stream) if v.stream.text == v.name.text else f"{_name(v.stream)} {_name(v.name)}" for v in variables
    )


def _query(tree: Tree, tall: bool) -> str:
    generator = TallGenerator if tall else QueryGenerator
    return str(generator(dialect=DIALECT, pretty=True, comments=False).generate(tree))


def _sql(tree: Tree) -> str:
    return str(DIALECT.generate(tree, comments=False))


def _name(name: Name) -> str:
    return _backquoted(name.text) if name.quoted else name.text


def _backquoted(text: str) -> str:
    return f"`{text.replace('`', '``')}`"


def _names(names: Names) -> str:
    return f"({', '.join(_name(name) for name in names)})"
