"""Files made by hand, each with something odd in it, and what comes of them: rows, or an error with these words."""

from __future__ import annotations

import base64
import gzip
import struct
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

N = "n BIGINT, ts BIGINT"
W = "w STRING, ts BIGINT"
X = "x DOUBLE, ts BIGINT"
P = "p DECIMAL(6, 2), ts BIGINT"
T = "t TIMESTAMP, ts BIGINT"


@dataclass(frozen=True, slots=True)
class Case:
    form: str
    data: bytes | Callable[[], bytes]
    #: Rows as tuples, or what the message says. `{file}` is the file.
    comes: list[tuple[Any, ...]] | str
    columns: str = N
    options: str = ""

    def content(self) -> bytes:
        return self.data if isinstance(self.data, bytes) else self.data()


def parquet(columns: dict[str, Any], **options: Any) -> Callable[[], bytes]:
    def write() -> bytes:
        out = BytesIO()
        pq.write_table(pa.table(columns), out, **options)
        return out.getvalue()

    return write


def times(unit: str, *numbers: int, zone: str | None = None) -> dict[str, Any]:
    return {"t": pa.array(numbers, pa.int64()).view(pa.timestamp(unit, zone)), "ts": list(range(len(numbers)))}


def forged_footer() -> bytes:
    """A footer that says that the file has very many rows, and a length of its own that is larger than the file."""
    data = bytearray(parquet({"n": list(range(100)), "ts": [0] * 100})())
    footer = len(data) - 8 - struct.unpack("<i", data[-8:-4])[0]
    at = data.find(b"\x16\xc8\x01", footer)  # 100, as thrift has it
    assert at > 0
    data[at : at + 3] = b"\x16\xfe\xff\xff\xff\xff\xff\x7f"[:3]
    data[-8:-4] = struct.pack("<i", 0x7FFFFFF0)
    return bytes(data)


def other_count() -> bytes:
    """A footer that says that there is one row more."""
    data = bytearray(parquet({"n": list(range(100)), "ts": [0] * 100})())
    at = data.find(b"\x16\xc8\x01", len(data) - 8 - struct.unpack("<i", data[-8:-4])[0])
    data[at + 1] += 2
    return bytes(data)


def many_groups() -> bytes:
    """A list of row groups that is said to have two thousand million entries."""
    data = bytearray(parquet({"n": [1], "ts": [0]})())
    footer = len(data) - 8 - struct.unpack("<i", data[-8:-4])[0]
    at = data.find(b"\x19\x1c", footer)  # a list of one struct
    assert at > 0
    more = bytes(data[:at]) + b"\x19\xfc\xff\xff\xff\xff\x07" + bytes(data[at + 2 : -8])
    return more + struct.pack("<i", len(more) - footer) + b"PAR1"


def int96() -> bytes:
    instants = pa.array([1_500_000, 253_402_300_799_000_000], pa.timestamp("us"))
    return parquet({"t": instants, "ts": [0, 1]}, use_deprecated_int96_timestamps=True)()


# A parquet file compressed by LZO, of which no reader here knows: one column, one row.
def lzo() -> bytes:
    data = parquet({"n": [7] * 100, "ts": [0] * 100}, compression="snappy", use_dictionary=False)()
    # The codec of a column chunk is field 4 of its metadata, an i32: 0x15 and a zigzag number, behind the path.
    return data.replace(b"\x19\x18\x01n\x15\x02", b"\x19\x18\x01n\x15\x06")


_LONG = b"x" * (10 << 20)

CASES: dict[str, Case] = {
    # csv
    "a field too few": Case("csv", b"1,1\n2\n", "{file}:2: 1 field instead of 2"),
    "a field too many": Case("csv", b"1,1\n2,2,2\n", "{file}:2: 3 fields instead of 2"),
    "NUL in a number": Case("csv", b"1\x00,1\n", "{file}:1: "),
    "NUL in a text": Case("csv", b"a\x00b,1\n", [("a\x00b", 1)], W),
    "CRLF": Case("csv", b"1,1\r\n2,2\r\n", [(1, 1), (2, 2)]),
    "lone CR": Case("csv", b"1,1\r2,2\r", [(1, 1), (2, 2)]),
    "lone CR behind a header": Case(
        "csv", b"n,ts\r1,1\rx,2\r", "{file}:3: 'x' in column n is not a BIGINT", N, "header 'true'"
    ),
    "lone CR in a header": Case("csv", b"n\rts\n1,1\n", "{file}: has no column ts", N, "header 'true'"),
    "a quoted header": Case("csv", b'"n","t\ns",ts\n1,x,2\n', [(1, 2)], N, "header 'true'"),
    "a header that ends inside quotes": Case(
        "csv", b'n,"ts\n1,1\n', "the file ends inside a quoted field", N, "header 'true'"
    ),
    "BOM": Case("csv", b"\xef\xbb\xbfn,ts\n1,1\n", [(1, 1)], N, "header 'true'"),
    "UTF-16 csv": Case(
        "csv", "n,ts\n1,1\n".encode("utf-16"), "{file}: it is UTF-16, not text in UTF-8", N, "header 'true'"
    ),
    "a long line": Case("csv", _LONG + b",1\n", "in column n is not a BIGINT"),
    "a long text": Case("csv", b"ab,1\n" + _LONG + b",1,2\n", "{file}:2: 3 fields instead of 2", W),
    "an empty file": Case("csv", b"", []),
    "only a header": Case("csv", b"n,ts\n", [], N, "header 'true'"),
    "only a header without an end": Case("csv", b"n,ts", [], N, "header 'true'"),
    "a header twice": Case(
        "csv", b"n,ts\n1,1\nn,ts\n", "{file}:3: 'n' in column n is not a BIGINT", N, "header 'true'"
    ),
    "a column twice": Case("csv", b"n,ts,N\n1,1,1\n", "{file}: has 2 columns n", N, "header 'true'"),
    "unbalanced quotes": Case("csv", b'"a,1\nb,2\n', "{file}:1: the file ends inside a quoted field", W),
    "a quote inside a text": Case("csv", b'a"b"c,1\n', [('a"b"c', 1)], W),
    "inches": Case("csv", b'5" pipe,1\n"a\nb",2\n', [('5" pipe', 1), ("a\nb", 2)], W),
    "a header with inches": Case(
        "csv", b'5" w,w,ts\n1,2,3\n4,"5"" x",6\n', [("2", 3), ('5" x', 6)], W, "header 'true'"
    ),
    "an end between quotes behind inches": Case("csv", b'5" pipe,1\n"a,2\n', "the file ends inside a quoted field", W),
    "an empty field at the very end": Case("csv", b'1,"a",', [(1, "a", None)], "ts BIGINT, w STRING, v STRING"),
    "BOM twice": Case("csv", b"\xef\xbb\xbf\xef\xbb\xbfa,1\n", [("\ufeffa", 1)], W),
    "a column called as another and its place": Case(
        "csv", b"w,w 0,ts\nx,y,1\n", [("y", 1)], "`w 0` STRING, ts BIGINT", "header 'true'"
    ),
    "a separator that quotes": Case("csv", b"1,1\n", "{file}: sep and quote are both", N, "sep '\"'"),
    "gzip with a csv name": Case("csv", gzip.compress(b"1,1\n"), "{file}: it is compressed by gzip"),
    "parquet with a csv name": Case("csv", parquet({"n": [1], "ts": [1]}), "{file}: it is a parquet file"),
    "empty fields": Case("csv", b',1\n"",2\n\\N,3\n"\\N",4\n', [(None, 1), ("", 2), (None, 3), ("\\N", 4)], W),
    "empty fields of a number": Case(
        "csv", b',1\n"",2\n\\N,3\n"\\N",4\n', [(None, 1), (None, 2), (None, 3), (None, 4)]
    ),
    "quoted numbers that are NULL": Case(
        "csv", b'"-1",1\n-1,2\n"2",3\n', [(None, 1), (None, 2), (2, 3)], N, "nullValue '-1'"
    ),
    "numbers as texts": Case("csv", b"1.0,1\n", "in column n is not a BIGINT"),
    "an exponent": Case("csv", b"1e3,1\n", "in column n is not a BIGINT"),
    "a number too large": Case("csv", b"9223372036854775808,1\n", "in column n is not a BIGINT"),
    "doubles": Case(
        "csv",
        b"NaN,1\nInfinity,2\n-Infinity,3\n-0.0,4\n1e999,5\n1e-999,6\ninf,7\n",
        [("nan", 1), ("inf", 2), ("-inf", 3), (-0.0, 4), ("inf", 5), (0.0, 6), ("inf", 7)],
        X,
    ),
    "a double in words": Case("csv", b"nan(1),1\n", "in column x is not a DOUBLE", X),
    "a hexadecimal double": Case("csv", b"0x1p3,1\n", "in column x is not a DOUBLE", X),
    "decimals": Case("csv", b"9999.99,1\n-1.005,2\n", [(Decimal("9999.99"), 1), (Decimal("-1.01"), 2)], P),
    "a decimal that overflows": Case("csv", b"10000,1\n", "in column p is not a DECIMAL(6, 2)", P),
    "a decimal that rounds up and overflows": Case("csv", b"9999.999,1\n", "is not a DECIMAL(6, 2)", P),
    "a decimal with a huge exponent": Case("csv", b"1e999999999,1\n", "is not a DECIMAL(6, 2)", P),
    "booleans": Case(
        "csv", b"1,1\n0,2\nT,3\nno,4\n", [(True, 1), (False, 2), (True, 3), (False, 4)], "f BOOLEAN, ts BIGINT"
    ),
    "no boolean": Case("csv", b"2,1\n", "in column f is not a BOOLEAN", "f BOOLEAN, ts BIGINT"),
    "a date that is none": Case("csv", b"2023-02-29,1\n", "in column d is not a DATE", "d DATE, ts BIGINT"),
    "a date far away": Case("csv", b"99999-01-01,1\n", [(35_804_357, 1)], "d DATE, ts BIGINT"),
    "times with zones": Case(
        "csv", b"1970-01-01T01:00:00+01:00,1\n1970-01-01 00:00:00Z,2\n1970-01-01,3\n", [(0, 1), (0, 2), (0, 3)], T
    ),
    "nanoseconds in text": Case("csv", b"1970-01-01 00:00:00.123456789,1\n", [(123_456, 1)], T),
    "a thousand columns": Case(
        "csv",
        ",".join(str(i) for i in range(1001)).encode() + b"\n",
        [tuple(range(1001))],
        ", ".join(f"c{i} INT" for i in range(1000)) + ", ts BIGINT",
    ),
    "wrong values in a lenient mode": Case("csv", b"x,1\n", [(None, 1)], N, "mode 'PERMISSIVE'"),
    "wrong arity in a lenient mode": Case("csv", b"1,1\n2\n", "{file}:2: 1 field instead of 2", N, "mode 'PERMISSIVE'"),
    # json
    "only null": Case("json", b"null\n", "{file}:1: this is not a JSON object"),
    "null behind a row": Case("json", b'{"n": 1}\nnull\n', "{file}:2: this is not a JSON object"),
    "null behind an object": Case("json", b'{"n": 1} null\n', "{file}:1: this is not JSON"),
    "two objects on a line": Case("json", b'{"n": 1}{"n": 2}\n', "{file}:1: this is not JSON"),
    "an object on two lines": Case("json", b'{"n": 1,\n"ts": 2}\n', "{file}:1: this is not JSON"),
    "brackets in brackets": Case(
        "json", b'{"n": ' + b"[" * 20_000 + b"]" * 20_000 + b"}\n", "{file}:1: values nest more than 200 deep"
    ),
    "brackets in a field that nobody reads": Case(
        "json",
        b'{"n": 1}\n{"n": 1, "more": ' + b"[" * 20_000 + b"]" * 20_000 + b"}\n",
        "{file}:2: values nest more than 200 deep",
    ),
    "objects in objects": Case(
        "json", b'{"]":' * 20_000 + b"1" + b"}" * 20_000 + b"\n", "values nest more than 200 deep"
    ),
    "some brackets": Case("json", b'{"n": 1, "more": ' + b"[" * 150 + b"]" * 150 + b', "ts": 2}\n', [(1, 2)]),
    "many brackets side by side": Case("json", b'{"n": 1, "more": [' + b"[]," * 5000 + b'[]], "ts": 2}\n', [(1, 2)]),
    "brackets in a text": Case("json", b'{"w": "' + b"[" * 300 + b'", "ts": 2}\n', [("[" * 300, 2)], W),
    "a name of its own in each line": Case(
        "json", lambda: b"".join(b'{"k%d": 1, "ts": 1}\n' % i for i in range(30_000)), [(None, 1)] * 30_000
    ),
    "half a surrogate pair": Case("json", rb'{"w": "\ud800"}', "{file}:1: half of a surrogate pair is not text", W),
    "the other half": Case("json", rb'{"w": "\udc00x"}', "{file}:1: half of a surrogate pair is not text", W),
    "half a pair in a name": Case(
        "json", rb'{"\ud800": 1, "ts": 1}', "{file}:1: half of a surrogate pair is not text", W
    ),
    "a surrogate as bytes": Case("json", b'{"w": "\xed\xa0\x80"}', "{file}:1: it is not UTF-8", W),
    "a pair": Case("json", rb'{"w": "\ud83d\ude00", "ts": 1}', [("\N{GRINNING FACE}", 1)], W),
    "bytes that are not UTF-8 where nobody reads": Case("json", b'{"n": 1, "x": "\xff"}', "{file}:1: it is not UTF-8"),
    "a name twice": Case("json", b'{"n": 1, "ts": 1, "n": 2}\n', "{file}:1: the object has n twice"),
    "a name twice in another case": Case("json", b'{"n": 1, "ts": 1, "N": 2}\n', "{file}:1: the object has N twice"),
    "a name in another case": Case("json", b'{"N": 1, "Ts": 2}\n{"n": 3, "ts": 4}\n', [(1, 2), (3, 4)]),
    "a name in escapes": Case("json", rb'{"\u004e": 1, "ts" : 2}', [(1, 2)]),
    "an unread name twice": Case("json", b'{"n": 1, "ts": 1, "x": 1, "x": 2}\n', [(1, 1)]),
    "CRLF in json": Case("json", b'{"n": 1, "ts": 2}\r\n{"n": 3, "ts": 4}\r\n', [(1, 2), (3, 4)]),
    "lone CR in json": Case("json", b'{"n": 1, "ts": 2}\r{"n": 3, "ts": 4}\r', "{file}:1: this is not JSON"),
    "NUL between objects": Case("json", b'{"n": 1}\n\x00{"n": 2}\n', "{file}:2: this is not JSON"),
    "a tab in a text": Case("json", b'{"w": "a\tb", "ts": 1}\n', "{file}:1: this is not JSON", W),
    "UTF-16 json": Case("json", '{"n": 1}\n'.encode("utf-16"), "{file}: it is UTF-16, not text in UTF-8"),
    "numbers that are none": Case(
        "json", b'{"x": NaN, "ts": 1}\n{"x": "-Infinity", "ts": 2}\n', [("nan", 1), ("-inf", 2)], X
    ),
    "a double too large": Case("json", b'{"x": 1e999, "ts": 1}\n', [("inf", 1)], X),
    "a negative zero": Case("json", b'{"x": -0.0, "ts": 1}\n', [(-0.0, 1)], X),
    "an integer with a fraction": Case("json", b'{"n": 1.5}\n', "{file}:1: 1.5 in n is not a BIGINT"),
    "an integer with an exponent": Case("json", b'{"n": 1e3, "ts": 1}\n', [(1000, 1)]),
    "an integer with a huge exponent": Case("json", b'{"n": 1e999999999}\n', "in n is not a BIGINT"),
    "an integer of very many digits": Case("json", b'{"n": ' + b"9" * 5000 + b"}\n", "{file}:1: "),
    "a decimal in json that overflows": Case(
        "json", b'{"p": 10000}\n', "{file}:1: 10000 in p is not a DECIMAL(6, 2)", P
    ),
    "a boolean as a number": Case("json", b'{"f": 1}\n', "{file}:1: 1 in f is not a BOOLEAN", "f BOOLEAN, ts BIGINT"),
    "a text from other values": Case(
        "json",
        b'{"w": 1.5, "ts": 1}\n{"w": {"a": [1.50, null]}, "ts": 2}\n',
        [("1.5", 1), ('{"a":[1.5,null]}', 2)],
        W,
    ),
    "a text from a boolean": Case("json", b'{"w": true}\n', "{file}:1: true in w is not a STRING", W),
    "a trailing comma": Case("json", b'{"n": 1,}\n', "{file}:1: this is not JSON"),
    "an array of rows": Case("json", b'[{"n": 1}]\n', "{file}:1: this is not a JSON object"),
    "a long text in json": Case("json", b'{"n": "' + _LONG + b'"}\n', "in n is not a BIGINT"),
    "no base64": Case("json", b'{"b": "?"}\n', '{file}:1: "?" in b is not a BINARY', "b BINARY, ts BIGINT"),
    "no base64 and no ASCII": Case(
        "json", '{"b": "é"}\n'.encode(), '{file}:1: "é" in b is not a BINARY', "b BINARY, ts BIGINT"
    ),
    # parquet
    "zero bytes": Case("parquet", b"", "{file}: it cannot be read as parquet"),
    "no parquet": Case("parquet", b"PAR1 and no more", "{file}: it cannot be read as parquet"),
    "a forged footer": Case("parquet", forged_footer, "{file}: it cannot be read as parquet"),
    "another number of rows": Case("parquet", other_count, "{file}: it cannot be read as parquet"),
    "very many row groups": Case("parquet", many_groups, "{file}: it cannot be read as parquet"),
    "unknown compression": Case("parquet", lzo, "{file}: it cannot be read as parquet"),
    "an encrypted footer": Case(
        "parquet", lambda: parquet({"n": [1], "ts": [1]})()[:-4] + b"PARE", "{file}: it cannot be read as parquet"
    ),
    "96 bits": Case("parquet", int96, [(1_500_000, 0), (253_402_300_799_000_000, 1)], T),
    "seconds": Case("parquet", parquet(times("ms", 5, -5), version="2.6"), [(5000, 0), (-5000, 1)], T),
    "nanoseconds": Case(
        "parquet", parquet(times("ns", 1_999, -1, -1_000, -1_001)), [(1, 0), (-1, 1), (-1, 2), (-2, 3)], T
    ),
    "nanoseconds in a zone": Case("parquet", parquet(times("ns", 1_999, zone="Europe/Paris")), [(1, 0)], T),
    "milliseconds that do not fit": Case(
        "parquet", parquet(times("ms", 2**62)), "{file}: column t holds a value that is not a TIMESTAMP", T
    ),
    "a struct": Case(
        "parquet", parquet({"n": [{"a": 1}], "ts": [1]}), "{file}: column n holds struct<a: int64>, not BIGINT"
    ),
    "a list": Case(
        "parquet", parquet({"n": [[1]], "ts": [1]}), "{file}: column n holds list<element: int64>, not BIGINT"
    ),
    "a struct that nobody reads": Case("parquet", parquet({"n": [1], "more": [{"n": 2}], "ts": [1]}), [(1, 1)]),
    "doubles in parquet": Case(
        "parquet",
        parquet({"x": [float("nan"), float("-inf"), -0.0, None], "ts": [1, 2, 3, 4]}),
        [("nan", 1), ("-inf", 2), (-0.0, 3), (None, 4)],
        X,
    ),
    "too large a number": Case(
        "parquet",
        parquet({"n": pa.array([2**63], pa.uint64()), "ts": [1]}),
        "{file}: column n holds a value that is not a BIGINT",
    ),
    "too wide a decimal": Case(
        "parquet",
        parquet({"p": pa.array([Decimal("12345.67")]), "ts": [1]}),
        "{file}: column p holds a value that is not a DECIMAL(6, 2)",
        P,
    ),
    "too long a decimal": Case(
        "parquet",
        parquet({"p": pa.array([Decimal("1.005")]), "ts": [1]}),
        "{file}: column p holds a value that is not a DECIMAL(6, 2)",
        P,
    ),
    "texts that are not UTF-8": Case(
        "parquet",
        parquet(
            {
                "w": pa.Array.from_buffers(
                    pa.string(), 1, [None, pa.py_buffer(struct.pack("<ii", 0, 1)), pa.py_buffer(b"\xff")]
                ),
                "ts": [1],
            }
        ),
        "{file}: column w holds a value that is not a STRING",
        W,
    ),
    "bytes for a text": Case(
        "parquet", parquet({"w": [b"a"], "ts": [1]}), "{file}: column w holds binary, not STRING", W
    ),
    "names that differ in case": Case("parquet", parquet({"n": [1], "N": [2], "ts": [3]}), [(1, 3)]),
    "names that differ in case and are none of ours": Case(
        "parquet", parquet({"NN": [1], "nN": [2], "ts": [3]}), "{file}: has 2 columns nn", "nn BIGINT, ts BIGINT"
    ),
    "a parquet file without a column": Case("parquet", parquet({"ts": [3]}), "{file}: has no column n"),
    "base64 of a gzip": Case("json", base64.b64encode(gzip.compress(b"{}")), "{file}:1: this is not JSON"),
}
