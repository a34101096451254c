"""Punctuations that are forgotten are not missed: rows are purged at the same instants with them and without."""

from __future__ import annotations

import random
from itertools import product

import pytest

from penstock.closing.punctuation import Punctuation, Scheme, StreamRow
from tests.reference.punctuation import Keeping, chained_purge, punctuation_states, purge_punctuations, rules_out
from tests.register.punctuation.futures import Instance, random_instance


class Run:
    """Rows and punctuations come in; rows are purged at once, and punctuations too if `forget`."""

    def __init__(self, instance: Instance, forget: bool) -> None:
        self.instance, self.forget = instance, forget
        self.rows: list[StreamRow] = []
        self.held: list[Punctuation] = []

    def take(self, event: StreamRow | Punctuation) -> None:
        (self.rows if isinstance(event, StreamRow) else self.held).append(event)  # type: ignore[arg-type]
        before = -1
        while before != len(self.rows) + len(self.held):
            before = len(self.rows) + len(self.held)
            self.purge()

    def purge(self) -> None:
        query, schemes = self.instance.query, self.instance.scheme_set
        stored = {stream: [row for row in self.rows if row.stream == stream] for stream in self.instance.streams}
        for row in list(self.rows):
            if chained_purge(query, schemes, stored, self.held, row) is None:
                self.rows.remove(row)
                stored[row.stream].remove(row)
        if self.forget:
            gone = purge_punctuations(query, schemes, stored, self.held)
            self.held = [each for each in self.held if each not in gone]


@pytest.mark.parametrize("block", range(3))
def test_rows_go_at_the_same_time_with_and_without_forgotten_punctuations(block: int) -> None:
    forgotten = 0
    for seed in range(block * 40, block * 40 + 40):
        rng = random.Random(seed)
        instance = random_instance(rng, streams=3, attributes=2)
        instance.schemes += [(stream, (names[0],), None) for stream, names in instance.streams.items()]
        instance.schemes = list(dict.fromkeys(instance.schemes))
        events: list[StreamRow | Punctuation] = [
            Punctuation(scheme, values)
            for scheme in instance.scheme_set
            for values in product(range(2), repeat=len(scheme.attributes))
        ]
        for stream, names in instance.streams.items():
            events += [StreamRow(stream, tuple((name, rng.choice(range(3))) for name in names)) for _ in range(4)]
        rng.shuffle(events)
        keeping, forgetting = Run(instance, forget=False), Run(instance, forget=True)
        come: list[Punctuation] = []
        for event in events:
            if isinstance(event, Punctuation):
                come.append(event)
            elif any(rules_out(each, event) for each in come):
                continue
            keeping.take(event)
            forgetting.take(event)
            assert keeping.rows == forgetting.rows, (seed, str(event), instance)
        forgotten += len(keeping.held) - len(forgetting.held)
    assert forgotten > 30


def test_when_all_values_are_closed_nothing_is_left() -> None:
    """Four streams on one key, each with a scheme on it: in any order of events all rows and punctuations go."""
    streams = {f"s{i}": ("k",) for i in range(4)}
    star = Instance(streams, [("s0.k", f"s{i}.k") for i in range(1, 4)], schemes=[(s, ("k",), None) for s in streams])
    for seed in range(25):
        rng = random.Random(seed)
        run = Run(star, forget=True)
        events: list[StreamRow | Punctuation] = [
            Punctuation(scheme, (k,)) for scheme in star.scheme_set for k in range(3)
        ]
        rows = [StreamRow(stream, (("k", rng.choice(range(3))),)) for stream in streams for _ in range(3)]
        for event in [*rows, *rng.sample(events, len(events))]:
            run.take(event)
        assert (run.rows, run.held) == ([], []), seed


def test_a_punctuation_stays_while_a_stored_row_waits_for_it() -> None:
    """The paper drops (b1, *) of S2 as soon as (*, b1) of S1 comes."""
    instance = Instance({"s1": ("b",), "s2": ("b", "c"), "s3": ("c",)}, [("s1.b", "s2.b"), ("s2.c", "s3.c")])
    schemes = [Scheme("s1", ("b",)), Scheme("s2", ("b",)), Scheme("s2", ("c",)), Scheme("s3", ("c",))]
    on_s1, on_s2 = Punctuation(schemes[0], (1,)), Punctuation(schemes[1], (1,))
    waiting = {"s1": [StreamRow("s1", (("b", 1),))], "s2": [StreamRow("s2", (("b", 1), ("c", 5)))]}
    assert purge_punctuations(instance.query, schemes, waiting, [on_s1, on_s2]) == frozenset()
    assert purge_punctuations(instance.query, schemes, {}, [on_s1, on_s2]) == {on_s1, on_s2}


def test_two_that_let_each_other_go_go_together() -> None:
    """A row of bid still tells 7: the punctuation of bid is not wanted, but that of item will need it as evidence."""
    auction = Instance({"item": ("id",), "bid": ("auction",)}, [("item.id", "bid.auction")])
    schemes = [Scheme("item", ("id",)), Scheme("bid", ("auction",))]
    held = [Punctuation(scheme, (7,)) for scheme in schemes]
    row = StreamRow("bid", (("auction", 7),))
    assert purge_punctuations(auction.query, schemes, {"bid": [row]}, held) == frozenset()
    assert purge_punctuations(auction.query, schemes, {}, held) == set(held)


def test_of_watermarks_only_the_highest_is_kept() -> None:
    instance = Instance({"a": ("ts",), "b": ("ts",)}, differ=[("a.ts", "b.ts", 5), ("b.ts", "a.ts", 5)])
    watermark = Scheme("a", (), order="ts")
    low, high = Punctuation(watermark, (), 3), Punctuation(watermark, (), 8)
    assert punctuation_states(instance.query, [watermark])[0].keeping is Keeping.LATEST
    assert purge_punctuations(instance.query, [watermark], {}, [high, low]) == {low}


def test_a_lifespan_of_the_closing_scheme_is_no_reason_to_forget() -> None:
    auction = Instance({"item": ("id",), "bid": ("auction",)}, [("item.id", "bid.auction")])
    item, bid = punctuation_states(auction.query, [Scheme("item", ("id",)), Scheme("bid", ("auction",), lifespan=60)])
    assert item.keeping is Keeping.FOREVER
    assert bid.keeping is Keeping.PURGED


def test_irrelevant_punctuations_are_not_kept_at_all() -> None:
    auction = Instance({"item": ("id",), "bid": ("auction", "bidder")}, [("item.id", "bid.auction")])
    bidders = Scheme("bid", ("bidder",))
    assert punctuation_states(auction.query, [bidders])[0].keeping is Keeping.IRRELEVANT
    punctuation = Punctuation(bidders, (1,))
    assert purge_punctuations(auction.query, [bidders], {}, [punctuation]) == {punctuation}
