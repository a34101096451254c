"""Packets travel between sources and cells, each as one binary value for Spark.

A packet is a short header of JSON and raw arrays: of each column the distance from its least number, in as few bytes as
that fits. Codes of a dictionary mean nothing elsewhere, so a packet of rows brings the values that its codes stand for,
and the receiver gives them codes of its own dictionary.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
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

#: What the rows of a packet take at most before they are packed. The JVM's collector handles larger values one by one,
#: at a price.
PACKET_BYTES = 384 << 10


class PacketKind(Enum):
    #: Rows of an input.
    ROWS = "rows"
    #: What a source's task has read: the segments, and how far each brings its stream.
    MARKER = "marker"
    #: The timestamps of a segment's rows, and how many rows have each.
    INSTANTS = "instants"
    #: No more rows arrive than this micro-batch brings.
    CLOSE = "close"
    #: Settings for all cells from this micro-batch on.
    SETTINGS = "settings"
    #: The streams that are idle from this micro-batch on.
    IDLE = "idle"


@dataclass(frozen=True, slots=True, order=True)
class Segment:
    """Arrivals of a stream that one task read in order: a block of a file, or a partition of a source.

    Segments of a micro-batch arrived in their own order: by name, then by where they start.
    """

    stream: str
    name: str
    start: int


@dataclass(frozen=True, slots=True)
class Packet:
    kind: PacketKind
    input: int = -1
    #: Its origin: a segment of a stream, or the address of a cell.
    segment: Segment | None = None
    sender: int = -1
    #: Packets of one origin are in the order of these.
    sequence: int = 0
    segments: tuple[tuple[Segment, Progress], ...] = ()
    deltas: Deltas | None = None
    #: Settings, and which start of the query they are of.
    settings: Mapping[str, Any] | None = None
    #: Streams that are idle, and how many rows of each there were when that was decided.
    idle: Mapping[str, int] | None = None


def rows_packets(
    deltas: Deltas, schema: Schema, dictionary: Dictionary, input_: int, origin: Segment | int, *, first: int = 0
) -> Iterator[bytes]:
    """Rows as packets, numbered from `first`."""
    most = max(1, PACKET_BYTES // (8 * (1 + row_width(len(schema)))))
    for number, start in enumerate(range(0, len(deltas), most)):
        end = start + most
        part = Deltas(deltas.ts[start:end], deltas.weight[start:end], deltas.rows[start:end])
        rows, values = _with_own_codes(part.rows, schema, dictionary)
        header: dict[str, Any] = {"kind": PacketKind.ROWS.value, "input": input_, "sequence": first + number}
        header |= {"columns": len(schema), "rows": len(part), "origin": _origin(origin)}
        numbers = [part.ts, part.weight, *rows.T]
        yield _packed(header | {"values": values} if values else header, numbers)


def marker_packet(segments: list[tuple[Segment, Progress]]) -> bytes:
    read = [[*_origin(s), *astuple(p)] for s, p in segments]
    return _packed({"kind": PacketKind.MARKER.value, "segments": read}, [])


def instants_packet(ts: Ints, segment: Segment) -> bytes:
    """Packs timestamps: each but the first is sent as its distance from the one before, which is a small number."""
    in_order = ts if bool((ts[1:] >= ts[:-1]).all()) else np.sort(ts)
    starts = np.concatenate(([0], np.flatnonzero(in_order[1:] != in_order[:-1]) + 1))
    instants, counts = in_order[starts], np.diff(starts, append=len(ts))
    header: dict[str, Any] = {"kind": PacketKind.INSTANTS.value, "origin": _origin(segment), "rows": len(instants)}
    return _packed(header | {"first": int(instants[0])}, [np.diff(instants, prepend=instants[:1]), counts])


def close_packet() -> bytes:
    return _packed({"kind": PacketKind.CLOSE.value}, [])


def settings_packet(sequence: int, settings: Mapping[str, Any]) -> bytes:
    return _packed({"kind": PacketKind.SETTINGS.value, "sequence": sequence, "settings": settings}, [])


def idle_packet(sequence: int, idle: Mapping[str, int]) -> bytes:
    return _packed({"kind": PacketKind.IDLE.value, "sequence": sequence, "idle": idle}, [])


def opened(data: bytes, schemas: list[Schema], dictionary: Dictionary) -> Packet:
    """Returns the packet; its rows have codes of this dictionary. `schemas` are those of the inputs."""
    (length,) = struct.unpack_from("<q", data)
    header = json.loads(data[8 : 8 + length])
    kind = PacketKind(header["kind"])
    match kind:
        case PacketKind.ROWS:
            deltas = _opened_rows(header, data[8 + length :], schemas[header["input"]], dictionary)
            origin = header["origin"]
            segment, sender = (None, origin) if isinstance(origin, int) else (Segment(*origin), -1)
            return Packet(kind, header["input"], segment, sender, header["sequence"], deltas=deltas)
        case PacketKind.INSTANTS:
            deltas = _opened_instants(header, data[8 + length :])
            return Packet(kind, segment=Segment(*header["origin"]), deltas=deltas)
        case PacketKind.MARKER:
            return Packet(kind, segments=tuple((Segment(*s[:3]), Progress(*s[3:])) for s in header["segments"]))
        case PacketKind.SETTINGS:
            return Packet(kind, sequence=header["sequence"], settings=header["settings"])
        case PacketKind.IDLE:
            return Packet(kind, sequence=header["sequence"], idle=header["idle"])
    return Packet(kind)


def values_text(values: Sequence[Interned | None]) -> str:
    """Values of a dictionary as JSON; None stays None."""
    return json.dumps([[base64.b64encode(v).decode()] if isinstance(v, bytes) else v for v in values])


def read_values(text: str | bytes) -> list[Any]:
    """Returns the values of `values_text`.

    >>> read_values(values_text(["a", b"b", None, 10**30]))
    ['a', b'b', None, 1000000000000000000000000000000]
    """
    return [base64.b64decode(v[0]) if isinstance(v, list) else v for v in json.loads(text)]


def _packed(header: dict[str, Any], columns: list[Ints]) -> bytes:
    """Returns a header that says how each column of numbers is packed, and what it is packed into."""
    packed = [_narrowed(column) for column in columns]
    described = [[least, None if away is None else away.dtype.str] for least, away in packed]
    text = json.dumps(header | {"packed": described}).encode()
    text += b" " * (-len(text) % 8)
    pieces = [struct.pack("<q", len(text)), text]
    for _, away in packed:
        if away is not None:
            # All arrays are aligned.
            pieces += [away.tobytes(), bytes(-away.nbytes % 8)]
    return b"".join(pieces)


def _widen(header: dict[str, Any], data: bytes, columns: list[Ints]) -> None:
    """Fills columns with the numbers that were packed."""
    at = 0
    for (least, kind), column in zip(header["packed"], columns, strict=True):
        if kind is None:
            column[:] = least
            continue
        away = np.frombuffer(data, np.dtype(kind), len(column), at)
        np.add(away, np.uint64(least % (1 << 64)), out=column.view(np.uint64), casting="unsafe", dtype=np.uint64)
        at += away.nbytes + -away.nbytes % 8


def _narrowed(numbers: Ints) -> tuple[int, NDArray[Any] | None]:
    """Returns the least number, and how far each is from it, in as few bytes as that fits; None where all are alike.

    >>> _narrowed(np.array([1000, 1003, 1000]))
    (1000, array([0, 3, 0], dtype=uint8))
    >>> _narrowed(np.array([7, 7]))
    (7, None)
    """
    if not len(numbers):
        return 0, None
    least, reach = int(numbers.min()), int(numbers.max()) - int(numbers.min())
    if reach == 0:
        return least, None
    # Modulo 2^64 the distance is right even where it does not fit a word with a sign.
    away = np.subtract(numbers.view(np.uint64), np.uint64(least % (1 << 64)))
    return least, away.astype(np.min_scalar_type(reach))


def _origin(origin: Segment | int) -> Any:
    return origin if isinstance(origin, int) else [origin.stream, origin.name, origin.start]


def _with_own_codes(rows: Ints, schema: Schema, dictionary: Dictionary) -> tuple[Ints, str]:
    """Replaces interned codes by positions in a list of values, and returns both."""
    places = _interned_places(rows, schema)
    if not places:
        return rows, ""
    used = np.unique(np.concatenate([rows[live, column] for column, live in places]))
    rows = rows.copy()
    for column, live in places:
        rows[live, column] = np.searchsorted(used, rows[live, column])
    return rows, values_text(dictionary.values(used))


def _opened_rows(header: dict[str, Any], data: bytes, schema: Schema, dictionary: Dictionary) -> Deltas:
    n = header["rows"]
    ts, weight = np.empty(n, np.int64), np.empty(n, np.int64)
    rows = np.empty((n, row_width(header["columns"])), np.int64)
    _widen(header, data, [ts, weight, *rows.T])
    if "values" in header:
        codes = dictionary.encode(read_values(header["values"]))
        for column, live in _interned_places(rows, schema):
            rows[live, column] = codes[rows[live, column]]
    return Deltas(ts, weight, rows)


def _opened_instants(header: dict[str, Any], data: bytes) -> Deltas:
    n = header["rows"]
    steps, counts = np.empty(n, np.int64), np.empty(n, np.int64)
    _widen(header, data, [steps, counts])
    return Deltas(header["first"] + np.cumsum(steps), counts, np.zeros((n, row_width(0)), np.int64))


def _interned_places(rows: Ints, schema: Schema) -> list[tuple[int, Any]]:
    """Returns the columns that hold numbers of a dictionary, and in which rows."""
    return [(i, ~is_null(rows, i, len(schema))) for i, column in enumerate(schema) if is_interned(column.type)]
