"""Packets: what travels between sources and cells, each one binary value for Spark.

A packet is a short header of JSON and raw int64 arrays. Codes of a dictionary mean nothing elsewhere, so a packet of
rows brings the values that its codes stand for, and whoever opens it gives them codes of its own.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.algebra.relations import Schema
from penstock.engines.lateness import Progress
from penstock.synopsis.codes import is_interned
from penstock.synopsis.deltas import Deltas, is_null, row_width
from penstock.synopsis.dictionary import Dictionary, Interned
from penstock.synopsis.memory import Ints

#: What the rows of a packet take at most. The JVM's collector handles larger values one by one, at a price.
PACKET_BYTES = 384 << 10


class Kind(Enum):
    #: Rows of a leaf.
    ROWS = "rows"
    #: What a source's task has read: the segments, and how far each brings its stream.
    MARKER = "marker"
    #: The timestamps of a segment's rows, and how many rows have each.
    INSTANTS = "instants"
    #: No more rows come.
    CLOSE = "close"


@dataclass(frozen=True, slots=True, order=True)
class Segment:
    """A stretch of a stream's arrivals that one task read in order: a block of a file, or a partition of a source.

    Segments of a micro-batch arrived in their own order: by name, then by where they start.
    """

    stream: str
    name: str
    start: int


@dataclass(frozen=True, slots=True)
class Packet:
    kind: Kind
    leaf: int = -1
    #: Where it comes from: a segment of a stream, or the address of a cell.
    segment: Segment | None = None
    sender: int = -1
    #: Packets of one origin are in the order of these.
    sequence: int = 0
    segments: tuple[tuple[Segment, Progress], ...] = ()
    deltas: Deltas | None = None


def rows_packets(
    deltas: Deltas, schema: Schema, dictionary: Dictionary, leaf: int, origin: Segment | int, *, first: int = 0
) -> Iterator[bytes]:
    """Rows as packets, numbered from `first`."""
    most = max(1, PACKET_BYTES // (8 * (1 + row_width(len(schema)))))
    for number, start in enumerate(range(0, len(deltas), most)):
        end = start + most
        part = Deltas(deltas.ts[start:end], deltas.weight[start:end], deltas.rows[start:end])
        rows, values = _with_own_codes(part.rows, schema, dictionary)
        header: dict[str, Any] = {"kind": Kind.ROWS.value, "leaf": leaf, "sequence": first + number}
        header |= {"columns": len(schema), "rows": len(part), "origin": _origin(origin)}
        # Rows of a stream all come once.
        alike = bool((part.weight == 1).all())
        arrays = [part.ts, rows] if alike else [part.ts, rows, part.weight]
        yield _packed(header | {"values": values} if values else header, arrays)


def marker_packet(segments: list[tuple[Segment, Progress]]) -> bytes:
    read = [[*_origin(s), p.newest, p.rows, p.late_rows, p.bad_rows] for s, p in segments]
    return _packed({"kind": Kind.MARKER.value, "segments": read}, [])


def instants_packet(ts: Ints, segment: Segment) -> bytes:
    """Each timestamp but the first is sent as its distance from the one before: these are small numbers."""
    instants, counts = np.unique(ts, return_counts=True)
    steps, counts = _narrowed(np.diff(instants, prepend=instants[:1])), _narrowed(counts)
    header: dict[str, Any] = {"kind": Kind.INSTANTS.value, "origin": _origin(segment), "rows": len(instants)}
    return _packed(header | {"first": int(instants[0]), "types": [steps.dtype.str, counts.dtype.str]}, [steps, counts])


def close_packet() -> bytes:
    return _packed({"kind": Kind.CLOSE.value}, [])


def opened(data: bytes, schemas: list[Schema], dictionary: Dictionary) -> Packet:
    """The packet; its rows have codes of this dictionary. `schemas` are those of the leaves."""
    (length,) = struct.unpack_from("<q", data)
    header = json.loads(data[8 : 8 + length])
    kind = Kind(header["kind"])
    match kind:
        case Kind.ROWS:
            words = np.frombuffer(data, np.int64, offset=8 + length)
            deltas = _opened_rows(header, words, schemas[header["leaf"]], dictionary)
            origin = header["origin"]
            segment, sender = (None, origin) if isinstance(origin, int) else (Segment(*origin), -1)
            return Packet(kind, header["leaf"], segment, sender, header["sequence"], deltas=deltas)
        case Kind.INSTANTS:
            deltas = _opened_instants(header, data[8 + length :])
            return Packet(kind, segment=Segment(*header["origin"]), deltas=deltas)
        case Kind.MARKER:
            return Packet(kind, segments=tuple((Segment(*s[:3]), Progress(*s[3:])) for s in header["segments"]))
    return Packet(kind)


def values_text(values: Sequence[Interned | None]) -> str:
    """Values of a dictionary as JSON; None stays None."""
    return json.dumps([[base64.b64encode(v).decode()] if isinstance(v, bytes) else v for v in values])


def read_values(text: str | bytes) -> list[Any]:
    """The values of `values_text`.

    >>> read_values(values_text(["a", b"b", None, 10**30]))
    ['a', b'b', None, 1000000000000000000000000000000]
    """
    return [base64.b64decode(v[0]) if isinstance(v, list) else v for v in json.loads(text)]


def _packed(header: dict[str, Any], arrays: list[NDArray[Any]]) -> bytes:
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # so that the arrays are aligned
    return b"".join([struct.pack("<q", len(text)), text, *(np.ascontiguousarray(a).tobytes() for a in arrays)])


def _origin(origin: Segment | int) -> Any:
    return origin if isinstance(origin, int) else [origin.stream, origin.name, origin.start]


def _with_own_codes(rows: Ints, schema: Schema, dictionary: Dictionary) -> tuple[Ints, str]:
    """Rows whose interned codes are numbers of the values that come with them."""
    places = _interned_places(rows, schema)
    if not places:
        return rows, ""
    used = np.unique(np.concatenate([rows[live, column] for column, live in places]))
    rows = rows.copy()
    for column, live in places:
        rows[live, column] = np.searchsorted(used, rows[live, column])
    return rows, values_text(dictionary.values(used))


def _opened_rows(header: dict[str, Any], words: Ints, schema: Schema, dictionary: Dictionary) -> Deltas:
    n, width = header["rows"], row_width(header["columns"])
    rows = words[n : n + n * width].reshape(n, width)
    if "values" in header:
        codes = dictionary.encode(read_values(header["values"]))
        rows = rows.copy()
        for column, live in _interned_places(rows, schema):
            rows[live, column] = codes[rows[live, column]]
    rest = words[n + n * width :]
    return Deltas(words[:n], rest if len(rest) else np.ones(n, np.int64), rows)


def _opened_instants(header: dict[str, Any], data: bytes) -> Deltas:
    steps_type, counts_type = map(np.dtype, header["types"])
    n = header["rows"]
    steps = np.frombuffer(data, steps_type, n).astype(np.int64)
    counts = np.frombuffer(data, counts_type, n, offset=n * steps_type.itemsize).astype(np.int64)
    return Deltas(header["first"] + np.cumsum(steps), counts, np.zeros((n, row_width(0)), np.int64))


def _narrowed(numbers: Ints) -> NDArray[Any]:
    """Numbers from 0 on in as few bytes as they fit."""
    return numbers.astype(np.min_scalar_type(int(numbers.max())))


def _interned_places(rows: Ints, schema: Schema) -> list[tuple[int, Any]]:
    """The columns that hold numbers of a dictionary, and in which rows."""
    return [(i, ~is_null(rows, i, len(schema))) for i, column in enumerate(schema) if is_interned(column.type)]
