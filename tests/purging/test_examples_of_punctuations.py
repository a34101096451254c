"""The worked examples of Li et al. (004), state by state: what each join stores after each row, and what goes when.

Figures 2 and 7 show no states: of the architecture it is tested that the query register lets safe queries run and no
others, and of plans which are safe. Where the paper errs, the example is the one that holds;
`docs/theory/punctuations.md` says why.
"""

from __future__ import annotations

import pytest

from penstock.algebra.join_trees import TreeJoin, TreeLeaf
from penstock.closing.punctuation import (
    JoinAttribute,
    JoinEquality,
    PunctuatedJoin,
    PunctuatedStream,
    Scheme,
    check_plan,
    safe_plans,
)
from penstock.engines.embedded import EmbeddedEngine
from penstock.register import check_query, refuse_unsafe
from penstock.register.refusal import UnsafeQuery
from tests.engines.comparing import Log, batch, bound, logged
from tests.generators import Case
from tests.reference.punctuation import check, punctuation_graph

#: A row of a stream, and the rows that each stream's state has then.
Step = tuple[str, tuple[object, ...], dict[str, int]]


def play(ddl: str, select: str, steps: list[Step]) -> list[tuple[object, ...]]:
    """Lets one row come per instant, checks all states after each, and gives the results."""
    case = Case(ddl, f"{select} ALLOW UNBOUNDED", {}, None, "")
    query, catalog = bound(case)
    engine = EmbeddedEngine(query, catalog)
    log: Log = Log()
    for ts, (name, row, want) in enumerate(steps, start=1):
        (stream,) = (one for one in catalog.streams if one.name == name)
        engine.push(name, batch(stream, [(*row, ts)]))
        log += logged(engine._step(ts + 1), query)
        lines = [line for line in engine.metrics() if line.stream in want and line.operator.startswith("scan")]
        assert {line.stream: line.state_rows for line in lines} == want, (ts, name, row)
    return sorted(row for row, n in log.items() for _ in range(n))


AUCTION = """
CREATE STREAM item (sellerid BIGINT, itemid BIGINT, initialprice BIGINT, ts BIGINT, UNIQUE (itemid)) TIMESTAMP BY ts;
CREATE STREAM bid (bidderid BIGINT, itemid BIGINT, increase BIGINT, ts BIGINT,
    PUNCTUATED BY (itemid) FROM closed (itemid)) TIMESTAMP BY ts;
CREATE STREAM closed (itemid BIGINT, ts BIGINT) TIMESTAMP BY ts;
"""
AUCTION_STEPS: list[Step] = [
    ("item", (11, 1, 100), {"item": 1, "bid": 0}),
    ("bid", (21, 1, 10), {"item": 1, "bid": 0}),  # its item is there, and is the only one: it goes at once
    ("bid", (22, 2, 5), {"item": 1, "bid": 1}),  # its item may still come
    ("bid", (23, 2, 7), {"item": 1, "bid": 2}),
    ("item", (12, 2, 50), {"item": 2, "bid": 0}),  # it has come, and all its bids go
    ("closed", (1,), {"item": 1, "bid": 0}),  # no more bids for it: the item goes
    ("bid", (24, 2, 1), {"item": 1, "bid": 0}),
    ("closed", (2,), {"item": 0, "bid": 0}),
]


def test_figure_1_an_auction() -> None:
    """Example 1: bids go with their item, items with their punctuation."""
    join = "SELECT i.itemid, b.increase FROM item i, bid b WHERE i.itemid = b.itemid"
    steps: list[Step] = [(n, r, {"i": want["item"], "b": want["bid"]}) for n, r, want in AUCTION_STEPS]
    assert [(ts, row) for ts, _, *row in play(AUCTION, join, steps)] == [
        (2, [1, 10]),
        (5, [2, 5]),
        (5, [2, 7]),
        (7, [2, 1]),
    ]


def test_figure_1_the_groupby_gives_an_item_when_it_is_closed() -> None:
    """ "The groupby operator can now output the result for this item", just once."""
    total = """SELECT i.itemid, SUM(b.increase) AS difference FROM item i, bid b WHERE i.itemid = b.itemid
        GROUP BY i.itemid EMIT ON CLOSE"""
    steps: list[Step] = [(n, r, {"i": want["item"], "b": want["bid"]}) for n, r, want in AUCTION_STEPS]
    assert play(AUCTION, total, steps) == [(6, "+", 1, 10), (8, "+", 2, 13)]


def test_figure_2_the_query_register_lets_in_what_its_schemes_make_safe() -> None:
    """And "otherwise, the continuous join query is rejected", with the scheme that is missing."""
    join = "SELECT i.itemid, b.increase FROM item i, bid b WHERE i.itemid = b.itemid"
    schemes = AUCTION.replace("UNIQUE (itemid)", "UNIQUE (itemid), PUNCTUATED BY (itemid)")
    refuse_unsafe(check_query(*bound(Case(schemes, join, {}, None, ""))))
    without = schemes.replace(",\n    PUNCTUATED BY (itemid) FROM closed (itemid)", "")
    with pytest.raises(UnsafeQuery) as refused:
        refuse_unsafe(check_query(*bound(Case(without, join, {}, None, ""))))
    steps = [step.text for action in refused.value.verdict.actions for step in action.steps]
    assert "ALTER STREAM bid ADD PUNCTUATED BY (itemid);" in steps


def three_way(schemes: dict[str, list[str]], s3: str = "c BIGINT, a BIGINT") -> str:
    columns = {"s1": "a BIGINT, b BIGINT", "s2": "b BIGINT, c BIGINT", "s3": s3}
    ddl = []
    for name, own in columns.items():
        declared = "".join(f", PUNCTUATED BY ({s}) FROM p{n}_{name} ({s})" for n, s in enumerate(schemes.get(name, [])))
        ddl.append(f"CREATE STREAM {name} ({own}, ts BIGINT{declared}) TIMESTAMP BY ts;")
        for n, scheme in enumerate(schemes.get(name, [])):
            listed = ", ".join(f"{column} BIGINT" for column in scheme.split(", "))
            ddl.insert(0, f"CREATE STREAM p{n}_{name} ({listed}, ts BIGINT) TIMESTAMP BY ts;")
    return "\n".join(ddl)


CHAIN = "SELECT s1.a, s2.b, s3.c FROM s1, s2, s3 WHERE s1.b = s2.b AND s2.c = s3.c"
RING = f"{CHAIN} AND s3.a = s1.a"


def test_figure_3_a_row_waits_for_the_punctuations_of_its_partners_partners() -> None:
    """Example 2: t(a1, b1) goes after (b1, *) of S2 and (c1, *), ..., (cn, *) of S3, for all c that it joins."""
    steps: list[Step] = [
        ("s1", (1, 1), {"s1": 1, "s2": 0, "s3": 0}),
        ("s2", (1, 1), {"s1": 1, "s2": 1, "s3": 0}),
        ("s2", (1, 2), {"s1": 1, "s2": 2, "s3": 0}),
        ("p0_s2", (1,), {"s1": 1, "s2": 2, "s3": 0}),  # t joins no new row of S2, but new ones of S3 through S2's
        ("p0_s3", (1,), {"s1": 1, "s2": 1, "s3": 0}),  # (b1, c1) has no partner in S3 and gets none
        ("s3", (2, 9), {"s1": 1, "s2": 1, "s3": 1}),
        ("p0_s3", (2,), {"s1": 0, "s2": 1, "s3": 1}),  # now t goes; the others have no punctuations of S1 to go by
    ]
    ddl = three_way({"s2": ["b"], "s3": ["c"]})
    assert play(ddl, CHAIN, steps) == [(6, "+", 1, 1, 2)]


def test_figure_3_an_early_punctuation_purges_rows_to_come() -> None:
    """Section 5.1: (b1, *) of S2 came first. A row of S1 with b1 goes as soon as it comes."""
    steps: list[Step] = [
        ("p0_s2", (1,), {"s1": 0, "s2": 0, "s3": 0}),
        ("s1", (1, 1), {"s1": 0, "s2": 0, "s3": 0}),
        ("s1", (1, 2), {"s1": 1, "s2": 0, "s3": 0}),
    ]
    assert play(three_way({"s2": ["b"], "s3": ["c"]}), CHAIN, steps) == []


def test_figure_4_the_chain_of_four_streams() -> None:
    """The chained purge of S along S1, S2, S3: each step's values come from the rows joined before."""
    ddl = """
    CREATE STREAM p1 (a BIGINT, ts BIGINT) TIMESTAMP BY ts;
    CREATE STREAM p2 (b BIGINT, ts BIGINT) TIMESTAMP BY ts;
    CREATE STREAM p3 (c BIGINT, ts BIGINT) TIMESTAMP BY ts;
    CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts;
    CREATE STREAM s1 (a BIGINT, b BIGINT, ts BIGINT, PUNCTUATED BY (a) FROM p1 (a)) TIMESTAMP BY ts;
    CREATE STREAM s2 (b BIGINT, c BIGINT, ts BIGINT, PUNCTUATED BY (b) FROM p2 (b)) TIMESTAMP BY ts;
    CREATE STREAM s3 (c BIGINT, ts BIGINT, PUNCTUATED BY (c) FROM p3 (c)) TIMESTAMP BY ts;
    """
    select = "SELECT s.a, s3.c FROM s, s1, s2, s3 WHERE s.a = s1.a AND s1.b = s2.b AND s2.c = s3.c"
    steps: list[Step] = [
        ("s", (1,), {"s": 1}),
        ("s1", (1, 10), {"s": 1}),
        ("s1", (1, 11), {"s": 1}),
        ("s2", (10, 100), {"s": 1}),
        ("p3", (100,), {"s": 1}),  # step 3 has come before steps 1 and 2
        ("p1", (1,), {"s": 1}),
        ("p2", (10,), {"s": 1}),  # the b of 11 may still come
        ("p2", (11,), {"s": 0}),  # none has come with it, so there is no c to ask for
    ]
    assert play(ddl, select, steps) == []


def test_figure_5_each_state_of_the_ring_goes_by_its_next() -> None:
    """Example 3, with the schema S3(A, C): S1(-, +), S2(-, +), S3(+, -)."""
    ddl = three_way({"s1": ["b"], "s2": ["c"], "s3": ["a"]}, s3="a BIGINT, c BIGINT")
    steps: list[Step] = [
        ("s1", (1, 2), {"s1": 1, "s2": 0, "s3": 0}),
        ("s2", (2, 3), {"s1": 1, "s2": 1, "s3": 0}),
        ("s3", (1, 3), {"s1": 1, "s2": 1, "s3": 1}),
        ("p0_s3", (1,), {"s1": 1, "s2": 1, "s3": 1}),  # S1's row goes on to S3's, whose c may still come in S2
        ("p0_s2", (3,), {"s1": 0, "s2": 1, "s3": 1}),  # S1 reaches S3 by a, then S2 by c
        ("p0_s1", (2,), {"s1": 0, "s2": 0, "s3": 0}),  # S2 by b finds no row of S1, S3 by c that of S2
    ]
    assert play(ddl, RING, steps) == [(3, "+", 1, 2, 3)]


def test_figure_6_what_is_not_reached_may_bring_a_partner_for_any_row() -> None:
    """Without a scheme of S3, no punctuation of S2 lets a row of S1 go, and a row of S3 does join it."""
    steps: list[Step] = [
        ("s1", (1, 1), {"s1": 1, "s2": 0, "s3": 0}),
        ("s2", (1, 1), {"s1": 1, "s2": 1, "s3": 0}),
        ("p0_s2", (1,), {"s1": 1, "s2": 1, "s3": 0}),
        ("s3", (1, 7), {"s1": 1, "s2": 1, "s3": 1}),
    ]
    assert play(three_way({"s2": ["b"]}), CHAIN, steps) == [(4, "+", 1, 1, 1)]


def ring_of(schemes: list[Scheme]) -> tuple[PunctuatedJoin, list[Scheme]]:
    streams = PunctuatedStream("s1", ("a", "b")), PunctuatedStream("s2", ("b", "c")), PunctuatedStream("s3", ("a", "c"))
    pairs = [("s1", "s2", "b"), ("s2", "s3", "c"), ("s3", "s1", "a")]
    return PunctuatedJoin(
        streams, tuple(JoinEquality(JoinAttribute(s, x), JoinAttribute(t, x)) for s, t, x in pairs)
    ), schemes


def test_figure_7_no_tree_of_binary_joins_is_safe() -> None:
    query, schemes = ring_of([Scheme("s1", ("b",)), Scheme("s2", ("c",)), Scheme("s3", ("a",))])
    tree = TreeJoin((TreeJoin((TreeLeaf("s1"), TreeLeaf("s2"))), TreeLeaf("s3")))
    assert check(query, schemes).safe
    assert not check_plan(query, schemes, tree).safe
    assert [str(plan) for plan in safe_plans(query, schemes)] == ["(s1 ⋈ s2 ⋈ s3)"]


@pytest.mark.parametrize("more", [[], ["c"]])
def test_figures_8_and_9_a_scheme_of_two_attributes(more: list[str]) -> None:
    """S1(-, +), S2(+, -), S3(+, +); S3's own state goes only with a further scheme, here S2(-, +)."""
    ddl = three_way({"s1": ["b"], "s2": ["b", *more], "s3": ["c, a"]})
    kept = 0 if more else 1
    steps: list[Step] = [
        ("s1", (1, 1), {"s1": 1, "s2": 0, "s3": 0}),
        ("s2", (1, 5), {"s1": 1, "s2": 1, "s3": 0}),
        ("s2", (1, 6), {"s1": 1, "s2": 2, "s3": 0}),
        ("s3", (5, 1), {"s1": 1, "s2": 2, "s3": 1}),
        ("p0_s2", (1,), {"s1": 1, "s2": 2, "s3": 1}),  # t joins (b1, c5) and (b1, c6): it waits for both pairs of S3
        ("p0_s3", (5, 1), {"s1": 1, "s2": 2, "s3": 1}),
        ("p0_s3", (6, 1), {"s1": 0, "s2": 2, "s3": 1}),
        ("p0_s1", (1,), {"s1": 0, "s2": 0, "s3": 1}),
        *([("p1_s2", (5,), {"s1": 0, "s2": 0, "s3": kept})] if more else []),
    ]
    assert play(ddl, RING, steps) == [(4, "+", 1, 1, 5)]
    query, schemes = ring_of([Scheme("s1", ("b",)), Scheme("s2", ("b",)), Scheme("s3", ("a", "c"))])
    assert check(query, schemes).safe is False
    assert check(query, [*schemes, Scheme("s2", ("c",))]).safe


def transformed(query: PunctuatedJoin, schemes: list[Scheme]) -> list[set[frozenset[str]]]:
    """Definition 11, round by round: nodes that reach each other become one virtual node, whose streams reach together.

    An edge leads to a node if a scheme of one of its streams has each attribute joined with a stream of the other.
    """
    graph = punctuation_graph(query, schemes)
    rounds = [{frozenset({stream}) for stream in graph.streams}]
    while True:
        nodes = rounds[-1]
        reached = {node: {node} for node in nodes}
        for _ in nodes:
            for edge in graph.edges:
                (into,) = (node for node in nodes if edge.target in node)
                for known in reached.values():
                    if any(all(node & sources for sources in edge.sources) for node in known):
                        known.add(into)
        merged = {frozenset[str]().union(*(b for b in reached[a] if a in reached[b])) for a in nodes}
        if merged == nodes:
            return rounds
        rounds.append(merged)


def test_figure_10_what_reaches_each_other_is_one_virtual_node() -> None:
    """S1 and S2 become one. With the further scheme S2(-, +) the last round leaves one node, so all is safe."""
    query, schemes = ring_of([Scheme("s1", ("b",)), Scheme("s2", ("b",)), Scheme("s3", ("a", "c"))])
    alone, pair, last = {frozenset({"s1"}), frozenset({"s2"})}, frozenset({"s1", "s2"}), frozenset({"s3"})
    assert transformed(query, schemes) == [{*alone, last}, {pair, last}]
    assert transformed(query, [*schemes, Scheme("s2", ("c",))]) == [{*alone, last}, {pair, last}, {pair | last}]


def test_figure_10_rows_of_a_virtual_node_go_together() -> None:
    """Rows of S1 and S2 that join close each other, and wait for the same pair of S3."""
    steps: list[Step] = [
        ("s1", (1, 1), {"s1": 1, "s2": 0, "s3": 0}),
        ("s2", (1, 5), {"s1": 1, "s2": 1, "s3": 0}),
        ("p0_s2", (1,), {"s1": 1, "s2": 1, "s3": 0}),
        ("p0_s1", (1,), {"s1": 1, "s2": 1, "s3": 0}),
        ("p0_s3", (5, 1), {"s1": 0, "s2": 0, "s3": 0}),
    ]
    assert play(three_way({"s1": ["b"], "s2": ["b"], "s3": ["c, a"]}), RING, steps) == []
