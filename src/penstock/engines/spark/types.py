"""SQL types and Spark's: which columns a stream may be read from, and the schema of results."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from penstock.algebra.relations import Schema
from penstock.catalog import StreamDef, TableDef
from penstock.errors import PenstockError
from penstock.types import Kind, Type

#: Spark's types whose every value is one of the declared type.
_READABLE: dict[Kind, tuple[type[T.DataType], ...]] = {
    Kind.BOOLEAN: (T.BooleanType,),
    Kind.INT: (T.IntegerType, T.ShortType, T.ByteType),
    Kind.BIGINT: (T.LongType, T.IntegerType, T.ShortType, T.ByteType),
    Kind.DOUBLE: (T.DoubleType, T.FloatType),
    Kind.STRING: (T.StringType,),
    Kind.BINARY: (T.BinaryType,),
    Kind.TIMESTAMP: (T.TimestampType, T.TimestampNTZType),
    Kind.DATE: (T.DateType,),
    Kind.DECIMAL: (T.DecimalType,),
}

_WRITTEN: dict[Kind, T.DataType] = {
    Kind.BOOLEAN: T.BooleanType(),
    Kind.INT: T.IntegerType(),
    Kind.BIGINT: T.LongType(),
    Kind.DOUBLE: T.DoubleType(),
    Kind.STRING: T.StringType(),
    Kind.BINARY: T.BinaryType(),
    Kind.TIMESTAMP: T.TimestampType(),
    Kind.DATE: T.DateType(),
    Kind.NULL: T.NullType(),
}


def spark_type(type_: Type) -> T.DataType:
    if type_.kind is Kind.DECIMAL:
        assert type_.precision is not None
        assert type_.scale is not None
        return T.DecimalType(type_.precision, type_.scale)
    return _WRITTEN[type_.kind]


def result_type(schema: Schema) -> T.StructType:
    """Returns the columns of a result: `_ts`, `_op`, and then the select list."""
    fields = [T.StructField("_ts", T.LongType()), T.StructField("_op", T.StringType())]
    return T.StructType([*fields, *(T.StructField(column.name, spark_type(column.type)) for column in schema)])


def check_columns(frame: DataFrame, definition: StreamDef | TableDef, names: Iterable[str]) -> list[Column]:
    """Returns the declared columns of a frame, or an error that says what is wrong with them."""
    fields = {field.name.lower(): field for field in frame.schema.fields}
    declared = {attribute.name: attribute for attribute in definition.attributes}
    columns = []
    for name in names:
        field = fields.get(name.lower())
        if field is None:
            given = ", ".join(field.name for field in frame.schema.fields)
            raise PenstockError(f"the rows of {definition.name} have no column {name}", f"they have {given}")
        type_ = declared[name].type
        if not _reads(type_, field.dataType):
            given = field.dataType.simpleString()
            raise PenstockError(
                f"column {name} of {definition.name} is declared {type_}, but the data has {given}",
                f"declare it otherwise, or cast it: .withColumn({name!r}, F.col({name!r}).cast(...))",
            )
        quoted = field.name.replace("`", "``")
        column = F.col(f"`{quoted}`")
        # What clocks show becomes an instant of the session's time zone.
        is_local = isinstance(field.dataType, T.TimestampNTZType)
        columns.append((column.cast(T.TimestampType()) if is_local else column).alias(name))
    return columns


def _reads(declared: Type, given: T.DataType) -> bool:
    if not isinstance(given, _READABLE[declared.kind]):
        return False
    if isinstance(given, T.DecimalType):
        assert declared.precision is not None
        assert declared.scale is not None
        whole = declared.precision - declared.scale
        return given.scale <= declared.scale and given.precision - given.scale <= whole
    return True
