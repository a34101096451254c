"""The columns of what a program hands over: which of them queries can read, and why not the others.

A column of any type and any name may be there as long as no query reads it. What is wrong with a declaration is said of
the data and of the arguments, since nobody has written the CREATE STREAM that is made of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.catalog import LeftOut
from penstock.errors import PenstockError, Source, Span, SqlError, SqlErrors
from penstock.sql.diagnostics import did_you_mean, listed

#: Spark's types, and those that their columns are declared with.
_SPARK = {"tinyint": "INT", "smallint": "INT", "float": "DOUBLE", "timestamp_ntz": "TIMESTAMP"}
_SAME_IN_SPARK = ("boolean", "int", "bigint", "double", "string", "binary", "timestamp", "date")
_DECIMAL = re.compile(r"decimal\(\d+,\d+\)")


@dataclass(frozen=True, slots=True)
class HandedColumns:
    """What is handed over under a name: columns that can be declared, with their types, and the others."""

    name: str
    #: What the user would call the data: a DataFrame, a table.
    noun: str
    declared: tuple[tuple[str, str], ...]
    left_out: tuple[LeftOut, ...]

    def elements(self) -> list[str]:
        """Returns the columns as CREATE STREAM lists them."""
        return [f"{quoted(column)} {type_}" for column, type_ in self.declared]

    def check_time(self, timestamp: str) -> None:
        """Refuses a timestamp that is no column which can be read."""
        names = [column for column, _ in self.declared]
        if timestamp.lower() in (name.lower() for name in names):
            return
        for column in self.left_out:
            if column.name.lower() == timestamp.lower():
                hint = f"hand over a time in a column of its own: {self._computed(timestamp)}"
                raise PenstockError(f"{timestamp} cannot be the time of {self.name}: {column.why}", hint)
        message = f"the {self.noun} of {self.name} has no column {timestamp}, which timestamp= names"
        raise PenstockError(message, did_you_mean(timestamp, names) or f"its columns are {listed(names)}")

    def explained(self, error: PenstockError, statement: str, constraints: Sequence[str]) -> PenstockError:
        """Returns what is wrong with the statement that was made of the data and of the arguments."""
        errors = error.errors if isinstance(error, SqlErrors) else (error,)
        found = [self._explained(each, statement, constraints) for each in errors]
        return found[0] if len(found) == 1 else PenstockError("\n\n".join(map(str, found)))

    def _explained(self, error: PenstockError, statement: str, constraints: Sequence[str]) -> PenstockError:
        if not isinstance(error, SqlError):
            return error
        end = len(statement)
        for number, text in reversed(list(enumerate(constraints))):
            start = statement.rindex(text, 0, end)
            if start <= error.span.start < start + len(text):
                last = min(error.span.end - start, len(text))
                source = Source(f"constraints[{number}] of {self.name}", text)
                return SqlError(error.message, error.hint, source, Span(error.span.start - start, last))
            end = start
        return PenstockError(f"{self.name}: {error.message}", error.hint)

    def _computed(self, column: str) -> str:
        return f".withColumn({column!r}, ...)" if self.noun == "DataFrame" else "compute it first"


def spark_columns(name: str, frame: Any) -> HandedColumns:
    """Returns the columns of a Spark DataFrame."""
    fields = [(field.name, field.dataType.simpleString()) for field in frame.schema]
    columns = [(column, _declared_type(text), f"it is {_article(text)} {_short(text)}") for column, text in fields]
    return _handed(name, "DataFrame", columns)


def arrow_columns(name: str, columns: Iterable[tuple[str, Any, Any]], noun: str = "table") -> HandedColumns:
    """Returns columns of Arrow data: of each the name, the type that it is declared with if any, and its own."""
    found = [(column, None if type_ is None else str(type_), f"it holds {held}") for column, type_, held in columns]
    return _handed(name, noun, found)


def _handed(name: str, noun: str, columns: Sequence[tuple[str, str | None, str]]) -> HandedColumns:
    counts = Counter(column.lower() for column, _, _ in columns)
    declared, left_out = [], []
    for column, type_, why in columns:
        if not column:
            left_out.append(LeftOut(column, "it has no name"))
        elif counts[column.lower()] > 1:
            left_out.append(LeftOut(column, "there are several columns of that name, if case does not count"))
        elif type_ is None:
            left_out.append(LeftOut(column, why))
        else:
            declared.append((column, type_))
    if not declared:
        raise PenstockError(f"the {noun} of {name} has no column that a query can read", "columns are of simple types")
    return HandedColumns(name, noun, tuple(declared), tuple(left_out))


def _declared_type(text: str) -> str | None:
    if text in _SAME_IN_SPARK or _DECIMAL.fullmatch(text):
        return text.upper()
    return _SPARK.get(text)


def _article(text: str) -> str:
    return "an" if text[:1] in "aeio" else "a"


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
