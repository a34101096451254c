"""Names and types of user functions, as they are written in SQL."""

from __future__ import annotations

import re

from sqlglot import exp

from penstock.errors import PenstockError, Source, Span
from penstock.sql.calls import is_taken
from penstock.sql.diagnostics import Diagnostics
from penstock.sql.literals import TYPE_NAMES, bind_type
from penstock.sql.statements import parse_script
from penstock.sql.syntax import CreateQuery, Tree
from penstock.types import Type

_TYPE = re.compile(r"\s*\w+\s*(\(\s*\d+\s*(,\s*\d+\s*)?\))?\s*", re.ASCII)


def read_type(text: str) -> Type:
    """The type that a text names.

    >>> str(read_type("bigint")), str(read_type("DECIMAL(10,2)"))
    ('BIGINT', 'DECIMAL(10, 2)')
    """
    tree = _expression(f"CAST(NULL AS {text})") if _TYPE.fullmatch(text) else None
    if not isinstance(tree, exp.Cast):
        raise PenstockError(f"there is no type {text}", f"types are {TYPE_NAMES}")
    source = Source("<type>", f"SELECT CAST(NULL AS {text})")
    try:
        return bind_type(tree.args["to"], Diagnostics(source, Span(0, len(source.text))))
    except PenstockError as error:
        raise PenstockError(error.message, error.hint) from None


def check_function_name(name: str) -> None:
    """Refuses the name of a user function that no call could mean."""
    if is_taken(name):
        raise PenstockError(f"{name.upper()} is a function of the language", "give yours another name")
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise PenstockError(f"{name!r} is not a function's name", "a name has letters, digits and _")
    tree = _expression(f"{name}(1)")
    if not isinstance(tree, exp.Anonymous) or tree.name.lower() != name.lower():
        raise PenstockError(f"{name} is a word of the language", "give the function another name")


def _expression(text: str) -> Tree | None:
    """The one expression that a text is, or None."""
    statements = parse_script(Source("<text>", f"SELECT {text}")).statements
    if len(statements) != 1 or not isinstance(statements[0], CreateQuery):
        return None
    listed = statements[0].query.expressions
    return listed[0] if len(listed) == 1 else None
