"""A case: declarations, rows, a query, and the same query for DuckDB, all of them text or plain values.

A case prints as a text that `Case.read` turns into the same case again: paste it into a test.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from tests.generators import duckdb_sql, penstock_sql
from tests.generators.declarations import Row, Value, stream_rows, streams, table_rows, tables
from tests.generators.expressions import chance, choose
from tests.generators.features import ALL, Features
from tests.generators.queries import Shape, named_query, query
from tests.generators.sources import Environment
from tests.generators.syntax import Derived, Named, Query, Ref, Select, SetOperation, Star, With, outputs


@dataclass(frozen=True, slots=True)
class Case:
    ddl: str
    query: str
    #: The rows of each stream and table, in arrival order.
    data: Mapping[str, Sequence[Row]]
    horizon: int | None
    #: What the query's relation holds at the instant `$t`, as DuckDB's SQL.
    oracle: str

    @property
    def script(self) -> str:
        """All SQL of the case."""
        return f"{self.ddl}\nCREATE QUERY q AS {self.query};"

    def __str__(self) -> str:
        parts = [self.ddl]
        for name, rows in self.data.items():
            parts += [
                f"--- rows of {name}",
                *(json.dumps([_to_json(v) for v in row], ensure_ascii=False) for row in rows),
            ]
        parts += ["--- horizon", json.dumps(self.horizon), "--- query", self.query, "--- oracle", self.oracle]
        return "\n".join(parts)

    def __repr__(self) -> str:
        return f'Case.read(r"""\n{self}\n""")'

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """How Hypothesis prints a failing case: a dataclass of its own it would print field by field."""
        printer.text(repr(self))

    @staticmethod
    def read(text: str) -> Case:
        """The case that prints as this text."""
        ddl, *sections = text.strip().split("\n--- ")
        content = {title: body for title, _, body in (section.partition("\n") for section in sections)}
        data = {
            title.removeprefix("rows of "): [tuple(map(_from_json, json.loads(line))) for line in body.splitlines()]
            for title, body in content.items()
            if title.startswith("rows of ")
        }
        return Case(ddl, content["query"], data, json.loads(content["horizon"]), content["oracle"])


def _to_json(value: Value) -> Any:
    match value:
        case Decimal():
            return {"decimal": str(value)}
        case float():
            return {"double": repr(value)}
        case bytes():
            return {"binary": base64.b64encode(value).decode()}
    return value


def _from_json(value: Any) -> Value:
    match value:
        case {"decimal": text}:
            return Decimal(text)
        case {"double": text}:
            return float(text)
        case {"binary": text}:
            return base64.b64decode(text)
    result: Value = value
    return result


@st.composite
def cases(draw: st.DrawFn, features: Features = ALL) -> Case:
    return draw(several_cases(1, 1, features))[0]


@st.composite
def several_cases(draw: st.DrawFn, least: int, most: int, features: Features = ALL) -> list[Case]:
    """So many queries over the same declarations and rows, up to the same horizon."""
    env = Environment(features, draw(streams(features)), draw(tables(features)), named_query, features.max_level)
    ddl = [stream.ddl for stream in env.streams] + [table.ddl for table in env.tables]
    data = {stream.name: draw(stream_rows(stream, features)) for stream in env.streams}
    data |= {table.name: draw(table_rows(table, features)) for table in env.tables}
    for _ in range(choose(draw, (0, 0, 0, 1, 2)) if features.views else 0):
        view = Named(env.fresh("v"), named_query(draw, replace(env, level=1)))
        ddl.append(f"CREATE VIEW {view.name} AS {penstock_sql.query_sql(view.query)};")
        env = replace(env, views=(*env.views, view))
    texts = []
    for _ in range(draw(st.integers(least, most)) if most > 1 else 1):
        operator = choose(draw, (None, None, "ISTREAM", "DSTREAM", "RSTREAM")) if features.to_stream else None
        root = _root(draw, env, operator is not None)
        if operator == "ISTREAM" and re.search(
            r"\b(LEFT|RIGHT|FULL) JOIN\b", "".join((*ddl, penstock_sql.query_sql(root)))
        ):
            operator = None  # it would wait for partners: see tests/semantics/test_outer_joins.py
        texts.append((penstock_sql.query_sql(root, operator), duckdb_sql.query_sql(root)))
    horizon = choose(draw, (None, None, None, features.max_time + 3, features.max_time // 2))
    return [Case("\n".join(ddl), text, data, horizon, oracle) for text, oracle in texts]


def _root(draw: st.DrawFn, env: Environment, streaming: bool) -> Query:
    """The query of a case. ISTREAM and its like need a SELECT to stand on."""
    named: tuple[Named, ...] = ()
    if env.features.with_clause and chance(draw, 10):
        for _ in range(draw(st.integers(1, 2))):
            common = named_query(draw, replace(env, level=1))
            named = (*named, Named(env.fresh("w"), common, env.new_names(draw, common)))
            env = replace(env, views=(*env.views, named[-1]))
    body = query(draw, env, Shape(named=streaming))
    if streaming and isinstance(body, SetOperation):
        alias = env.fresh("x")
        columns = tuple(Ref(alias, o.name, o.type, exact=o.exact) for o in outputs(body))
        body = Select((Star(None, columns),), (Derived(body, alias),))
    return With(named, body) if named else body
