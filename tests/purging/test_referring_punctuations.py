"""A punctuation that refers to a row need not be kept for it once that has come, even if it went before."""

from __future__ import annotations

import pytest

from penstock.engines.embedded import EmbeddedEngine
from penstock.operators import punctuation_purge
from tests.engines.comparing import Log, bound, expected, logged
from tests.generators import Case
from tests.purging.stepping import steps

ITEMS = 40
#: An item comes, three bids, the last of which closes it; and the next one.
STEP = 10
DATA = {
    "item": [(n, STEP * n) for n in range(ITEMS)],
    "bid": [(n, int(at == 3), STEP * n + at) for n in range(ITEMS) for at in (1, 2, 3)],
}
BIDS = "(SELECT 1 FROM bid b WHERE b.auction = i.id AND b.closes = 0)"
QUERIES = {
    "EXISTS": f"SELECT i.id FROM item i WHERE EXISTS {BIDS}",
    "NOT EXISTS": f"SELECT i.id FROM item i WHERE NOT EXISTS {BIDS}",
    "join": "SELECT ISTREAM(i.id AS id, b.auction AS a) FROM item i, bid b WHERE b.auction = i.id AND b.closes = 0",
}


@pytest.mark.parametrize("within", ["0 SECONDS", "20 MICROSECONDS", "0 ROWS", "2 ROWS"])
@pytest.mark.parametrize("name", QUERIES)
def test_punctuations_are_not_kept_for_rows_that_went(name: str, within: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(punctuation_purge, "FEW", 4)
    ddl = f"""
    CREATE STREAM item (id BIGINT, ts BIGINT, UNIQUE (id)) TIMESTAMP BY ts;
    CREATE STREAM bid (auction BIGINT, closes INT, ts BIGINT,
      FOREIGN KEY (auction) REFERENCES item (id) WITHIN {within} ON VIOLATION IGNORE,
      PUNCTUATED BY (auction) WHEN closes = 1) TIMESTAMP BY ts;
    """
    case = Case(ddl, QUERIES[name], DATA, None, "")
    query, catalog = bound(case)
    engine = EmbeddedEngine(query, catalog)
    most, log = 0, Log()
    for out in steps(engine, catalog, DATA, 2 * STEP):
        log += logged(out, query)
        most = max(most, engine.state()[0])
    log += logged(engine.finish(), query)
    assert log == expected(case, query, catalog)
    assert most <= 20
