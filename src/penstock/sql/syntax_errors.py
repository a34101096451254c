"""Syntax errors in the user's words: what sqlglot says of a text is meant for those who know its trees."""

from __future__ import annotations

import re

from penstock.errors import Source, Span, SqlError
from penstock.sql.diagnostics import did_you_mean
from penstock.sql.dialect import Fault, SyntaxFault
from penstock.sql.refused import TABLE_FUNCTION

STATEMENTS = ("CREATE", "DROP", "ALTER", "SELECT", "WITH")
KEYWORDS = ("FROM", "WHERE", "GROUP", "HAVING", "SELECT", "UNION", "EXCEPT", "INTERSECT", "JOIN", "TIMESTAMP", "USING")

#: TABLE(TUMBLE(TABLE s, ...)), up to where the parser stumbles.
_TABLE_FUNCTION = re.compile(r"\b(?:FROM|JOIN)\s+TABLE\s*\(\s*\w+\s*\(\s*TABLE\s+$", re.IGNORECASE)

_WITH = "write WITH name AS (SELECT ...), ... SELECT ..."

#: What sqlglot says, what we say for it, and a hint. For all that is not here, "X is not expected here" is true.
_SQLGLOT_MESSAGES = (
    (r"Expected table name", "expected the name of a stream", None),
    (r"Expected TYPE after CAST", "expected a type", None),
    (r"Expected FROM or comma after EXTRACT", "expected FROM", "write EXTRACT(HOUR FROM timestamp)"),
    (r"Expected CTE to have alias", "a query of WITH needs a name", _WITH),
    (r"Failed to parse any statement following CTE|\w+ does not support CTE", "after WITH comes a query", _WITH),
    (r"Found multiple '(.+)' clauses", r"\1 stands twice", None),
    (r"Expect(?:ed|ing) (END after CASE|AS after CAST|type|[(){}>\]\[]+|\w+)$", r"expected \1", None),
)


def syntax_error(source: Source, fault: Fault, span: Span, at_end: bool) -> SqlError:
    """The error for a fault at a place, which may be the end of its statement."""
    if not isinstance(fault, SyntaxFault):
        return SqlError(fault.message, fault.hint, source, span)
    # No more of the text than its statement: texts may have many, each with an error of its own.
    if _TABLE_FUNCTION.search(source.text, source.text.rfind(";", 0, span.start) + 1, span.start):
        return SqlError(*TABLE_FUNCTION, source, span)
    for pattern, message, hint in _SQLGLOT_MESSAGES:
        if seen := re.match(pattern, fault.message):
            return SqlError(seen.expand(message), hint, source, span)
    shown = source.text[span.start : span.end]
    message = "something is missing at the end" if at_end else f"{shown} is not expected here"
    is_next_statement = shown.upper() in STATEMENTS
    hint = "end the statement before it with ;" if is_next_statement else _misspelt_keyword(source.text, span)
    return SqlError(message, hint, source, span)


def _misspelt_keyword(text: str, span: Span) -> str | None:
    """sqlglot takes a misspelt keyword for a name, and stumbles over what follows it."""
    before = re.findall(r"\w+", text[max(0, span.start - 40) : span.start])[-1:]
    words = [word for word in (text[span.start : span.end], *before) if word.upper() not in KEYWORDS]
    return next((hint for word in words if (hint := did_you_mean(word, KEYWORDS, at_least=0.75))), None)
