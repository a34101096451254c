"""Fixed user functions of all types that generated queries call: pure, with every policy, of values and of arrays."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.algebra.user_functions import UserFunction
from penstock.catalog import Catalog
from penstock.functions import declare


def strict_negation(a: int | None) -> int:
    """Fails on NULL: it is called where a CASE keeps NULL away."""
    assert a is not None
    return -1 - a


def _near(a: pa.Array, b: pa.Array) -> pa.Array:
    return pc.equal(pc.bit_wise_and(pc.bit_wise_xor(a, b), pa.scalar(-4)), pa.scalar(0))


_DECLARED: tuple[tuple[str, Callable[..., Any], list[str], str, dict[str, Any]], ...] = (
    ("twist", lambda a: 7 if a is None else a ^ 5, ["BIGINT"], "BIGINT", {}),
    ("strict_negation", strict_negation, ["BIGINT"], "BIGINT", {}),
    ("remainder", lambda a, b: a % b % 100, ["BIGINT", "BIGINT"], "INT", {"null": "skip", "on_error": "null"}),
    ("near", _near, ["BIGINT", "BIGINT"], "BOOLEAN", {"vectorized": True}),
    ("flipped", lambda f: True if f is None else not f, ["BOOLEAN"], "BOOLEAN", {}),
    ("shorter", lambda t, u: len(t) < len(u), ["STRING", "STRING"], "BOOLEAN", {"null": "skip"}),
    ("marked", lambda t: "none" if t is None else t[::-1] + "!", ["STRING"], "STRING", {}),
    ("shouted", pc.utf8_upper, ["STRING"], "STRING", {"vectorized": True, "null": "skip"}),
    ("root", math.sqrt, ["DOUBLE"], "DOUBLE", {"on_error": "null"}),
    ("capped", lambda p: min(p, Decimal(5)), ["DECIMAL(6, 2)"], "DECIMAL(6, 2)", {"null": "skip"}),
    ("later", lambda m: m + dt.timedelta(microseconds=1), ["TIMESTAMP"], "TIMESTAMP", {"null": "skip"}),
    ("next_day", lambda d: d + dt.timedelta(days=1), ["DATE"], "DATE", {"on_error": "null"}),
    ("backwards", lambda h: h[::-1], ["BINARY"], "BINARY", {"null": "skip"}),
)

USER_FUNCTIONS: dict[str, UserFunction] = {
    name: declare(name, arguments=arguments, returns=returns, **policies).of(python)
    for name, python, arguments, returns, policies in _DECLARED
}


def catalog_of_functions() -> Catalog:
    catalog = Catalog()
    for function in USER_FUNCTIONS.values():
        catalog = catalog.calling(function)
    return catalog
