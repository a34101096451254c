"""The rows of a counter-model with values of their columns' types, as one could write them into files.

A value of no importance becomes the next value of its type that no constant is; NULL stays NULL, unless the column is
in a key, in which two NULLs agree: there each row gets a value of its own. A model that needs more values than a type
has, or rows for ever with new keys, is not a model of the declarations: then there are no rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import count

from penstock.algebra.expressions import Literal, Value
from penstock.algebra.printing import expression_text
from penstock.catalog import Attribute, Catalog, StreamDef, Unique
from penstock.elimination.constraints import Constant, Constraint
from penstock.elimination.model_checker import breaks
from penstock.elimination.models import Model, ModelRow, Unnamed
from penstock.types import BIGINT_RANGE, TIMESTAMP, Kind, Type


@dataclass(frozen=True, slots=True)
class TypedRow:
    """A row of a stream, all columns in their order, virtual ones too; `period` as in the model."""

    stream: str
    values: tuple[Value, ...]
    period: int = 0

    def texts(self, attributes: Sequence[Attribute]) -> list[str]:
        """The values as csv has them."""
        return [_text(value, attribute.type) for value, attribute in zip(self.values, attributes, strict=True)]


def with_keys(model: Model, catalog: Catalog, theory: Sequence[Constraint], goal: Constraint) -> Model | None:
    """The model with values where NULLs would agree in a key; None where that is then no counter-model."""
    numbers = count(
        1 + max((v.number for row in model.rows for _, v in row.cells if isinstance(v, Unnamed)), default=0)
    )
    rows = []
    for row in model.rows:
        missing = [column for column in _key_columns(row.stream, catalog) if row.cell(column) is None]
        if missing and row.period:
            return None
        rows.append(replace(row, cells=(*row.cells, *((column, Unnamed(next(numbers))) for column in missing))))
    filled = Model(tuple(rows))
    if filled == model or breaks(filled, theory, goal):
        return filled
    return None


def typed_rows(model: Model, catalog: Catalog) -> tuple[TypedRow, ...] | None:
    """The rows, by their times; None where a type has too few values."""
    values = _Values(model)
    rows = []
    for row in sorted(model.rows, key=lambda each: each.time):
        stream = catalog.get(row.stream)
        assert isinstance(stream, StreamDef)
        if row.time > BIGINT_RANGE[1]:
            return None
        typed = [
            row.time if attribute.name == stream.timestamp else values.of(row, attribute)
            for attribute in stream.attributes
        ]
        rows.append(TypedRow(row.stream, tuple(typed), row.period))
    return None if values.ran_out else tuple(rows)


def _key_columns(name: str, catalog: Catalog) -> Iterator[str]:
    stream = catalog.get(name)
    assert isinstance(stream, StreamDef)
    keys = [declared.columns for declared in stream.constraints if isinstance(declared, Unique)]
    return (column for column in dict.fromkeys(c for key in keys for c in key) if column != stream.timestamp)


class _Values:
    """Chooses values as they are asked for."""

    def __init__(self, model: Model) -> None:
        self._constants = {v.value for row in model.rows for _, v in row.cells if isinstance(v, Constant)}
        self._chosen: dict[Unnamed, Value] = {}
        self._candidates = {kind: _candidates(kind) for kind in Kind}
        self.ran_out = False

    def of(self, row: ModelRow, attribute: Attribute) -> Value:
        found = row.cell(attribute.name)
        if not isinstance(found, Unnamed):
            return None if found is None else found.value
        if found not in self._chosen:
            fresh = (value for value in self._candidates[attribute.type.kind] if value not in self._constants)
            value = next(fresh, None)
            self.ran_out |= value is None
            self._chosen[found] = value
        return self._chosen[found]


def _candidates(kind: Kind) -> Iterator[Value]:
    match kind:
        case Kind.BOOLEAN:
            yield from (True, False)
        case Kind.STRING:
            yield from (f"v{number}" for number in count(1))
        case Kind.BINARY:
            yield from (str(number).encode() for number in count(1))
        case Kind.DOUBLE:
            yield from (float(number) for number in count(1))
        case Kind.DECIMAL:
            yield from (Decimal(number) for number in range(1, 10))
        case _:
            yield from count(1)


def _text(value: Value, type_: Type) -> str:
    if value is None:
        return "\\N"
    if type_ == TIMESTAMP:
        return expression_text(Literal(value, type_)).partition("'")[2].rstrip("'")
    return str(value).lower() if isinstance(value, bool) else str(value)
