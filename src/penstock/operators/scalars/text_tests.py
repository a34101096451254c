"""Tests of one column of strings against literals: LIKE, RLIKE, CONTAINS, STARTSWITH, ENDSWITH and LENGTH, by Arrow.

Where rows are still columns of an Arrow batch, a test runs over the array as it lies, and no Python string is made.
Where strings are codes it runs once over those that differ. Patterns are matched by RE2, in time linear in the string.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from penstock.algebra.expressions import Call, Column, Expr, Like, Literal
from penstock.algebra.relations import Schema
from penstock.operators.scalars.vectors import Batch, Evaluate, Vector, over_distinct
from penstock.synopsis.codes import nulls_of
from penstock.types import STRING

#: What gives a boolean or a number for each string of an array.
TextTest = Callable[[pa.Array], pa.Array]


class Wildcard(Enum):
    """What a LIKE pattern has beside literals, as regular expressions."""

    ANY = ".*"
    ONE = "."


def text_test(expr: Expr) -> TextTest | None:
    """Returns the test of an expression, or None if it is no test of a string against literals.

    >>> from penstock.types import STRING
    >>> text_test(Like(Column("s", "name", STRING), "a_c%"))(pa.array(["abc", "ac", None])).to_pylist()
    [True, False, None]
    """
    match expr:
        case Like(_, pattern, escape):
            return _like(pattern, escape)
        case Call("RLIKE", (_, Literal(str(pattern)))):
            return lambda texts: pc.match_substring_regex(texts, pattern)
        case Call("CONTAINS", (_, Literal(str(part)))):
            return lambda texts: pc.match_substring(texts, part)
        case Call("STARTSWITH", (_, Literal(str(part)))):
            return lambda texts: pc.starts_with(texts, part)
        case Call("ENDSWITH", (_, Literal(str(part)))):
            return lambda texts: pc.ends_with(texts, part)
        case Call("LENGTH", (text,)) if text.type == STRING:
            length: TextTest = pc.utf8_length
            return length
    return None


def evaluation(test: TextTest, expr: Expr, schema: Schema, codes: Evaluate) -> Evaluate:
    """Returns what computes a test of the first part of an expression; `codes` computes that part."""
    rule = over_distinct(lambda texts: test(pa.array(texts, pa.string())).to_pylist(), (STRING,), expr.type)
    tested = expr.parts[0]
    if not isinstance(tested, Column):
        return lambda batch: rule(batch, [codes(batch)])
    position = schema.index(tested)

    def evaluate(batch: Batch) -> Vector:
        array = batch.array(position)
        return rule(batch, [codes(batch)]) if array is None else _vector(test(array))

    return evaluate


def _vector(results: pa.Array) -> Vector:
    nulls = nulls_of(results)
    is_boolean = pa.types.is_boolean(results.type)
    if nulls is not None:
        results = results.fill_null(False if is_boolean else 0)
    data = results.to_numpy(zero_copy_only=False)
    return Vector(data if is_boolean else data.astype(np.int64), nulls)


def _like(pattern: str, escape: str) -> TextTest:
    """Returns the test of a LIKE pattern. Those with one literal need no regular expression."""
    match list(_pieces(pattern, escape)):
        case []:
            return lambda texts: pc.equal(texts, "")
        case [str(whole)]:
            return lambda texts: pc.equal(texts, whole)
        case [str(start), Wildcard.ANY]:
            return lambda texts: pc.starts_with(texts, start)
        case [Wildcard.ANY, str(end)]:
            return lambda texts: pc.ends_with(texts, end)
        case [Wildcard.ANY, str(part), Wildcard.ANY]:
            return lambda texts: pc.match_substring(texts, part)
        case pieces:
            body = "".join(_quoted(piece) if isinstance(piece, str) else piece.value for piece in pieces)
            return lambda texts: pc.match_substring_regex(texts, rf"(?s)\A{body}\z")


def _pieces(pattern: str, escape: str) -> Iterator[str | Wildcard]:
    """Yields the literals and wildcards of a pattern; two % in a row say no more than one.

    >>> list(_pieces("a!%%%b_", "!"))
    ['a%', <Wildcard.ANY: '.*'>, 'b', <Wildcard.ONE: '.'>]
    """
    literal, last = "", None
    characters = iter(pattern)
    for character in characters:
        # An escape at the end has nothing to escape, and stands for itself.
        escaped = next(characters, None) if character == escape else None
        wildcard = _WILDCARDS.get(character) if escaped is None else None
        if wildcard is None:
            literal, last = literal + (escaped or character), None
            continue
        if literal:
            yield literal
            literal = ""
        if wildcard is not last or wildcard is Wildcard.ONE:
            yield wildcard
        last = wildcard
    if literal:
        yield literal


_WILDCARDS = {"%": Wildcard.ANY, "_": Wildcard.ONE}


def _quoted(literal: str) -> str:
    """Returns the regular expression of a literal, for RE2."""
    return "".join(each if each.isalnum() else rf"\x{{{ord(each):x}}}" for each in literal)
