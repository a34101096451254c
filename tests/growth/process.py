"""The stationary process that all random queries of this room read, and the declarations that hold of it.

Time is cut into epochs of a millisecond. Epoch e opens key e; its rows come in the epochs e, e+1 and e+2, and it is
closed in epoch e+4 (`c`: e+5). So the live keys, the open values and the rows of a window are alike at all times:

    key     e-4       e-3    e-2  e-1   e
    epoch e closes    waits  ...rows of data...     one row of p for key e; z closes key e-6

Every nullable column has NULLs. Those of a punctuated or joined column are drawn apart (`Nulls`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from random import Random

EPOCH = 1000  # microseconds
STREAMS = ("a", "b", "c", "p", "z")
COLUMNS = "id BIGINT, k BIGINT, s STRING, g BIGINT, x BIGINT, y BIGINT, w STRING, ends INT, ts BIGINT"
NAMES = tuple(part.split()[0] for part in COLUMNS.split(", "))
DELAY = 1500
TABLE_DDL = "CREATE TABLE t (y BIGINT, name STRING, UNIQUE (y));"
TABLE = [(0, "none"), (1, "one"), (2, "two"), (3, None)]

Value = int | str | None
Row = tuple[Value, ...]
Data = dict[str, list[Row]]


class Nulls(Enum):
    """NULLs among the keys."""

    NONE = "none"
    #: They come all the time, and no punctuation has one.
    OPEN = "open"
    #: They come with a g that rises, and punctuations close (NULL, g), but never NULL alone.
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Declaration:
    stream: str
    text: str


def _declarations(nulls: Nulls) -> list[Declaration]:
    found = []
    for stream in "abc":
        texts = [
            "UNIQUE (id)",
            "PUNCTUATED BY (k, g) WHEN ends >= 1",
            "PUNCTUATED BY (s, g) WHEN ends >= 1",
            "FOREIGN KEY (k) REFERENCES p (k) WITHIN 2 ROWS",
            "FOREIGN KEY (k) REFERENCES p (k) WITHIN 1500 MICROSECONDS",
            "FOREIGN KEY (s) REFERENCES p (s) WITHIN 2 ROWS",
            "FOREIGN KEY (s) REFERENCES p (s) WITHIN 1500 MICROSECONDS",
            "ORDERED BY k WITHIN 40 ROWS",
            "ORDERED BY k WITHIN 7000 MICROSECONDS",
            "ORDERED BY id WITHIN 0 ROWS",
        ]
        if nulls is not Nulls.CLOSED:
            texts += [
                "PUNCTUATED BY (k) WHEN ends = 1",
                "PUNCTUATED BY (s) WHEN ends = 1",
                "PUNCTUATED BY (k) FROM z (k)",
                "PUNCTUATED BY (s) FROM z (s)",
                "PUNCTUATED BY (k) WHEN ends = 1 LIFESPAN 3000 MICROSECONDS",
            ]
        if nulls is not Nulls.OPEN:
            texts += ["CLUSTERED BY (k, g) WITHIN 60 ROWS", "CLUSTERED BY (s, g) WITHIN 8000 MICROSECONDS"]
        if nulls is Nulls.NONE:
            texts += [
                "CLUSTERED BY (k) WITHIN 60 ROWS",
                "CLUSTERED BY (k) WITHIN 8000 MICROSECONDS",
                "CLUSTERED BY (s) WITHIN 60 ROWS",
                "CLUSTERED BY (s) WITHIN 8000 MICROSECONDS",
            ]
        found += [Declaration(stream, text) for text in texts]
    found += [
        Declaration("p", text)
        for text in (
            "UNIQUE (id)",
            "UNIQUE (k)",
            "UNIQUE (s)",
            "PUNCTUATED BY (k) FROM z (k)",
            "FOREIGN KEY (k) REFERENCES a (k) WITHIN 40 ROWS",
            "FOREIGN KEY (k) REFERENCES a (k) WITHIN 7000 MICROSECONDS",
            "FOREIGN KEY (k) REFERENCES b (k) WITHIN 7000 MICROSECONDS",
            "ORDERED BY k WITHIN 0 ROWS",
            "ORDERED BY k WITHIN 0 MICROSECONDS",
            "CLUSTERED BY (k) WITHIN 0 ROWS",
        )
    ]
    found += [Declaration("z", text) for text in ("UNIQUE (k)", "UNIQUE (s)", "ORDERED BY k WITHIN 0 ROWS")]
    return found


@cache
def declarations(nulls: Nulls) -> Sequence[Declaration]:
    """All that hold of the rows of such a process."""
    return tuple(_declarations(nulls))


def stream_ddl(stream: str, chosen: Sequence[Declaration]) -> str:
    mine = "".join(f",\n  {one.text}" for one in chosen if one.stream == stream)
    delay = f" DELAY {DELAY} MICROSECONDS" if stream == "c" else ""
    return f"CREATE STREAM {stream} ({COLUMNS}{mine}) TIMESTAMP BY ts{delay};"


def ddl(chosen: Sequence[Declaration]) -> str:
    return "\n".join([*(stream_ddl(stream, chosen) for stream in STREAMS), TABLE_DDL])


@cache
def data(epochs: int, nulls: Nulls) -> Data:
    """The rows of all streams, in the order of their arrival."""
    random = Random(f"{nulls}")
    rows: dict[str, list[dict[str, Value]]] = {name: [] for name in STREAMS}
    for epoch in range(epochs):
        for name in "abc":
            rows[name] += _events(random, name, epoch, nulls)
        rows["p"].append(_row(random, epoch, random.randrange(2), epoch * EPOCH + random.randrange(EPOCH)))
        if epoch >= 6:
            rows["z"].append(_row(random, epoch - 6, 0, epoch * EPOCH + random.randrange(EPOCH)))
    found: Data = {}
    for name, mine in rows.items():
        mine.sort(key=lambda row: _time(row) + (random.randrange(DELAY) if name == "c" else 0))
        for number, row in enumerate(sorted(mine, key=_time)):
            row["id"] = number
        found[name] = [tuple(row[column] for column in NAMES) for row in mine]
    return found


def _time(row: dict[str, Value]) -> int:
    time = row["ts"]
    assert isinstance(time, int)
    return time


def _events(random: Random, stream: str, epoch: int, nulls: Nulls) -> list[dict[str, Value]]:
    start = epoch * EPOCH
    found = []
    for _ in range(3):
        born = max(0, epoch - random.randrange(3))
        at = start + random.randrange(EPOCH)
        if nulls is Nulls.NONE or random.random() < 0.9:
            found.append(_row(random, born, random.randrange(2), at))
        elif nulls is Nulls.OPEN:
            row = _row(random, born, random.randrange(2), at)
            found.append(row | dict.fromkeys(random.choice(("k", "s", "ks"))))
        else:
            found.append(_row(random, None, born, at))
    closed = epoch - (5 if stream == "c" else 4)
    if closed >= 0:
        at = start + random.randrange(EPOCH - 100)
        found += [_row(random, closed, 0, at, ends=2), _row(random, closed, 1, at + 1 + random.randrange(99), ends=1)]
        if nulls is Nulls.CLOSED:
            found.append(_row(random, None, closed, at, ends=2))
    return found


def _row(random: Random, key: int | None, g: int, ts: int, ends: int = 0) -> dict[str, Value]:
    return {
        "id": None,
        "k": key,
        "s": None if key is None else f"key-{key}",
        "g": g,
        "x": None if random.random() < 0.05 else random.randrange(1 << 40),
        "y": random.choice((None, 0, 1, 2, 3, 4)),
        "w": None if random.random() < 0.05 else f"w{random.randrange(1 << 40):x}",
        "ends": ends or (None if random.random() < 0.1 else 0),
        "ts": ts,
    }
