"""Good files, and damage that is done to them: the same for the same seed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from decimal import Decimal
from io import BytesIO

import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS = "n BIGINT, x DOUBLE, p DECIMAL(6, 2), f BOOLEAN, w STRING, b BINARY, d DATE, ts TIMESTAMP"

_WORDS = ("plain", "a,b", 'say "x"', "two\nlines", "é", "日本", "tab\there", "back\\slash", "{[", "nul")


def good_csv(random_: random.Random) -> bytes:
    lines = []
    for i in range(random_.randrange(1, 60)):
        word = random_.choice(_WORDS)
        quoted = '"' + word.replace('"', '""') + '"' if any(c in word for c in ',"\n') else word
        x, p = random_.choice(("1.5", "-2e3", "NaN", "")), random_.choice(("1.50", "-99.99", "\\N"))
        flag, day = random_.choice(("true", "false", "")), f"1970-01-{1 + i % 28:02}"
        lines.append(f"{i},{x},{p},{flag},{quoted},text,{day},1970-01-01 00:00:{i % 60:02}.5")
    return ("\n".join(lines) + "\n").encode()


def good_json(random_: random.Random) -> bytes:
    lines = []
    for i in range(random_.randrange(1, 60)):
        row = {
            "n": i,
            "x": random_.choice((1.5, -2e3, None)),
            "p": random_.choice((1.5, -99.99, None)),
            "f": random_.choice((True, False, None)),
            "w": random_.choice(_WORDS),
            "b": "YWI=",
            "d": "1970-01-02",
            "ts": f"1970-01-01 00:00:{i % 60:02}.5",
        }
        if random_.random() < 0.3:
            row["more"] = random_.choice(([1, {"a": "]"}], "text", {"x": {"y": None}}))  # type: ignore[assignment]
        if random_.random() < 0.2:
            row.pop(random_.choice(("n", "x", "w")))
        lines.append(json.dumps(row, ensure_ascii=random_.random() < 0.5))
    return ("\n".join(lines) + "\n").encode()


def good_parquet(random_: random.Random) -> bytes:
    count = random_.randrange(1, 300)
    numbers = list(range(count))
    table = pa.table(
        {
            "n": numbers,
            "x": [random_.choice((1.5, None, -2e3)) for _ in numbers],
            "p": pa.array([random_.choice((Decimal("1.50"), None)) for _ in numbers], pa.decimal128(6, 2)),
            "f": [random_.choice((True, False, None)) for _ in numbers],
            "w": [random_.choice(_WORDS) for _ in numbers],
            "b": [b"ab" for _ in numbers],
            "d": pa.array([i % 9 for i in numbers], pa.int32()).cast(pa.date32()),
            "ts": pa.array([i * 1_500_000 for i in numbers], pa.timestamp("us", "UTC")),
        }
    )
    out = BytesIO()
    pq.write_table(
        table,
        out,
        row_group_size=random_.choice((10, 100, 1000)),
        compression=random_.choice(("none", "snappy", "zstd", "gzip", "lz4")),
        use_dictionary=random_.random() < 0.5,
        data_page_version=random_.choice(("1.0", "2.0")),
        write_page_checksum=True,
    )
    return out.getvalue()


GOOD: dict[str, Callable[[random.Random], bytes]] = {"csv": good_csv, "json": good_json, "parquet": good_parquet}


def _flip(data: bytearray, random_: random.Random) -> bytearray:
    for _ in range(random_.choice((1, 1, 1, 3, 20))):
        data[random_.randrange(len(data))] ^= 1 << random_.randrange(8)
    return data


def _cut(data: bytearray, random_: random.Random) -> bytearray:
    return data[: random_.randrange(len(data))]


_INSERTED = (
    b'"',
    b"\\",
    b"{",
    b"}",
    b"[" * 5000,
    b"\x00",
    b"\xff",
    b"\r",
    b"\n",
    b",",
    b"null\n",
    b"1e999999999",
    b"\\ud800",
)


def _insert(data: bytearray, random_: random.Random) -> bytearray:
    at = random_.randrange(len(data) + 1)
    odd = random_.choice((*_INSERTED, random_.randbytes(random_.randrange(1, 50))))
    return data[:at] + bytearray(odd) + data[at:]


def _repeat_line(data: bytearray, random_: random.Random) -> bytearray:
    lines = data.split(b"\n")
    at = random_.randrange(len(lines))
    return bytearray(b"\n".join(lines[: at + 1] + lines[at:]))


def _drop_line(data: bytearray, random_: random.Random) -> bytearray:
    lines = data.split(b"\n")
    del lines[random_.randrange(len(lines))]
    return bytearray(b"\n".join(lines))


def _swap(data: bytearray, random_: random.Random) -> bytearray:
    a, b, c = sorted(random_.randrange(len(data) + 1) for _ in range(3))
    return data[:a] + data[b:c] + data[a:b] + data[c:]


def _blank(data: bytearray, random_: random.Random) -> bytearray:
    at, length = random_.randrange(len(data)), random_.randrange(1, 64)
    return data[:at] + bytearray(min(length, len(data) - at)) + data[at + length :]


DAMAGES = (_flip, _flip, _cut, _insert, _insert, _repeat_line, _drop_line, _swap, _blank)


def damaged(form: str, seed: int) -> tuple[bytes, bytes, str]:
    """A good file, the same with damage, and the name of the damage."""
    random_ = random.Random(f"{form} {seed}")
    good = GOOD[form](random_)
    damage = random_.choice(DAMAGES)
    return good, bytes(damage(bytearray(good), random_)), damage.__name__.strip("_")
