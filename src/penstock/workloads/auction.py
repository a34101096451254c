"""Auctions, after NEXMark and 004's running example: items are offered, bid for, and closed.

An item is open for some minutes and gets fifteen bids on the average. The row that closes an item is a punctuation: no
bid for it comes after that.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from penstock.types import SECOND
from penstock.workloads.files import write_files

BIDS_PER_ITEM = 15
#: Items per second, and how long an item is open, in seconds.
ITEMS_PER_SECOND = 10
OPEN_SECONDS = (60, 180)

RESULTS = """
CREATE QUERY offers AS
SELECT ISTREAM(i.id AS id, i.seller AS seller, b.bidder AS bidder, b.price AS price)
FROM item i, bid b WHERE i.id = b.auction AND b.kind = 'bid';
"""


def ddl(folder: Path) -> str:
    """Declarations of both streams, with their files in a folder."""
    return f"""
CREATE STREAM item (id BIGINT, seller BIGINT, reserve BIGINT, ts BIGINT, UNIQUE (id)) TIMESTAMP BY ts
USING parquet OPTIONS (path '{folder / "item"}');
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts BIGINT,
  FOREIGN KEY (auction) REFERENCES item (id) WITHIN 0 SECONDS,
  PUNCTUATED BY (auction) WHEN kind = 'close'
) TIMESTAMP BY ts USING parquet OPTIONS (path '{folder / "bid"}');
"""


def write(folder: Path, rows: int, files: int = 1, seed: int = 0) -> None:
    """Parquet files of about so many rows in all."""
    random = np.random.default_rng(seed)
    items = max(1, rows // (BIDS_PER_ITEM + 2))
    ids, opened = np.arange(items), np.arange(items) * (SECOND // ITEMS_PER_SECOND)
    span = random.integers(OPEN_SECONDS[0] * SECOND, OPEN_SECONDS[1] * SECOND, items)
    sellers, reserves = random.integers(0, 1000, items), random.integers(1, 500, items)
    auction = random.integers(0, items, items * BIDS_PER_ITEM)
    at = opened[auction] + (random.random(len(auction)) * span[auction]).astype(np.int64)
    everything = {
        "auction": np.concatenate((auction, ids)),
        "bidder": np.concatenate((random.integers(0, 10_000, len(auction)), np.zeros(items, np.int64))),
        "price": np.concatenate((random.integers(1, 1000, len(auction)), np.zeros(items, np.int64))),
        "kind": np.repeat(["bid", "close"], (len(auction), items)),
        "ts": np.concatenate((at, opened + span)),
    }
    order = np.argsort(everything["ts"], kind="stable")
    bids = pa.table({name: column[order] for name, column in everything.items()})
    write_files(folder / "item", pa.table({"id": ids, "seller": sellers, "reserve": reserves, "ts": opened}), files)
    write_files(folder / "bid", bids, files)
