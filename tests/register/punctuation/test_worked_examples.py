"""The worked examples of 004, with its errors put right; where the paper is wrong, a test says in which way."""

from __future__ import annotations

import pytest

from penstock.closing.punctuation import (
    NotPurgeable,
    Punctuation,
    Purgeable,
    Scheme,
    StreamRow,
    TreeJoin,
    TreeLeaf,
    check_plan,
    safe_plans,
)
from tests.reference.punctuation import (
    Waiting,
    chained_purge,
    check,
    is_safe,
    punctuation_graph,
    punctuation_states,
    recipe,
)
from tests.register.punctuation.futures import Instance

STREAMS = {"s1": ("a", "b"), "s2": ("b", "c"), "s3": ("a", "c")}
#: Figure 3: two predicates; with the third, figures 5 and 8.
CHAIN = [("s1.b", "s2.b"), ("s2.c", "s3.c")]
CYCLE = [*CHAIN, ("s3.a", "s1.a")]


def scheme(text: str) -> Scheme:
    """`s3(a, c)`"""
    stream, _, attributes = text.removesuffix(")").partition("(")
    return Scheme(stream, tuple(attributes.split(", ")))


def purgeable(equal: list[tuple[str, str]], *schemes: str) -> set[str]:
    safety = check(Instance(STREAMS, equal).query, [scheme(each) for each in schemes])
    return {state.stream for state in safety.states if isinstance(state, Purgeable)}


def row(stream: str, *values: object) -> StreamRow:
    return StreamRow(stream, tuple(zip(STREAMS[stream], values, strict=True)))


def test_example_1_items_are_purged_when_their_auction_closes_and_bids_when_their_item_has_come() -> None:
    auction = Instance({"item": ("id",), "bid": ("auction", "bidder")}, [("item.id", "bid.auction")]).query
    assert is_safe(auction, [scheme("bid(auction)"), scheme("item(id)")])
    assert not is_safe(auction, [scheme("bid(bidder)"), scheme("item(id)")])


def test_figure_3_a_row_of_s1_is_purged_through_s2_and_its_rows_through_s3() -> None:
    query = Instance(STREAMS, CHAIN).query
    state = check(query, [scheme("s2(b)"), scheme("s3(c)")]).state("s1")
    assert isinstance(state, Purgeable)
    assert [str(step) for step in recipe(query, state).steps] == [
        "s2(b) for b = s1.b; join on b = s1.b",
        "s3(c) for c = s2.c; join on c = s2.c",
    ]


def test_figure_3_state_by_state() -> None:
    query, schemes = Instance(STREAMS, CHAIN).query, [scheme("s2(b)"), scheme("s3(c)")]
    stored = {"s2": [row("s2", "b1", "c1"), row("s2", "b1", "c2"), row("s2", "b2", "c3")]}
    t = row("s1", "a1", "b1")
    on_b, on_c1, on_c2 = (
        Punctuation(s, (v,)) for s, v in zip([schemes[0], *schemes[1:] * 2], ["b1", "c1", "c2"], strict=True)
    )
    waits = chained_purge(query, schemes, stored, [], t)
    assert waits == Waiting((t,), (frozenset({on_b}),))
    assert chained_purge(query, schemes, stored, [on_b], t) is not None
    assert chained_purge(query, schemes, stored, [on_b, on_c1], t) == Waiting(
        (t, stored["s2"][1]), (frozenset({on_c2}),)
    )
    assert chained_purge(query, schemes, stored, [on_b, on_c1, on_c2], t) is None


def test_figure_3_with_a_third_predicate_the_purge_may_go_the_other_way() -> None:
    assert "s1" in purgeable(CYCLE, "s3(a)", "s2(c)")
    assert "s1" not in purgeable(CHAIN, "s3(a)", "s2(c)")


def test_figure_5_is_safe_and_its_graph_a_circle() -> None:
    schemes = ["s1(b)", "s2(c)", "s3(a)"]
    assert purgeable(CYCLE, *schemes) == {"s1", "s2", "s3"}
    graph = punctuation_graph(Instance(STREAMS, CYCLE).query, [scheme(each) for each in schemes])
    assert graph.arrows == {("s2", "s1"), ("s3", "s2"), ("s1", "s3")}


def test_figure_5_is_unsafe_if_the_schema_of_s3_is_c_then_a_as_in_figure_3() -> None:
    """The scheme (+, -) of S3 then is on c."""
    assert purgeable(CYCLE, "s1(b)", "s2(c)", "s3(c)") == {"s2", "s3"}


@pytest.mark.parametrize("last", ["s1", "s2", "s3"])
def test_figure_7_no_tree_of_binary_joins_is_safe_for_figure_5(last: str) -> None:
    query, schemes = Instance(STREAMS, CYCLE).query, [scheme("s1(b)"), scheme("s2(c)"), scheme("s3(a)")]
    first, second = (TreeLeaf(name) for name in STREAMS if name != last)
    tree = TreeJoin((TreeJoin((first, second)), TreeLeaf(last)))
    lower, upper = check_plan(query, schemes, tree).joins
    assert not lower.safe
    assert upper.safe
    assert [str(plan) for plan in safe_plans(query, schemes)] == ["(s1 ⋈ s2 ⋈ s3)"]


def test_figure_7_there_is_no_punctuation_from_s2_for_rows_of_s1() -> None:
    query, schemes = Instance(STREAMS, CYCLE).query, [scheme("s1(b)"), scheme("s2(c)"), scheme("s3(a)")]
    lower, _ = check_plan(query, schemes, TreeJoin((TreeJoin((TreeLeaf("s1"), TreeLeaf("s2"))), TreeLeaf("s3")))).joins
    s1, s2 = lower.states
    assert isinstance(s1, NotPurgeable)
    assert isinstance(s2, Purgeable)
    assert [str(each) for each in s1.blocked] == ["s2(c): s2.c not known"]


def test_figure_8_as_printed_s3_is_not_purgeable() -> None:
    """Section 4.2 calls the join purgeable, S3 "according to theorem 1"; but no scheme is on an attribute of S3."""
    assert purgeable(CYCLE, "s1(b)", "s2(b)", "s3(a, c)") == {"s1", "s2"}


@pytest.mark.parametrize("more", ["s2(c)", "s1(a)"])
def test_figures_8_to_10_with_one_more_scheme_all_are(more: str) -> None:
    assert purgeable(CYCLE, "s1(b)", "s2(b)", "s3(a, c)", more) == {"s1", "s2", "s3"}


def test_figure_9_the_generalized_edge_leaves_s1_and_s2() -> None:
    schemes = [scheme("s1(b)"), scheme("s2(b)"), scheme("s3(a, c)")]
    graph = punctuation_graph(Instance(STREAMS, CYCLE).query, schemes)
    assert graph.arrows == {("s2", "s1"), ("s1", "s2")}
    (edge,) = [each for each in graph.edges if each.generalized]
    assert (edge.target, edge.sources) == ("s3", (frozenset({"s1"}), frozenset({"s2"})))


def test_theorem_1_needs_closed_predicates() -> None:
    """a.x = b.x and b.x = c.x: the punctuation graph as defined has no edge from a to c."""
    chain = Instance({"a": ("x",), "b": ("x", "y"), "c": ("x", "y")}, [("a.x", "b.x"), ("b.x", "c.x"), ("b.y", "c.y")])
    schemes = [Scheme("c", ("x",)), Scheme("b", ("y",))]
    assert isinstance(check(chain.query, schemes).state("a"), Purgeable)


def test_definition_11_misses_a_scheme_whose_attributes_all_join_one_stream() -> None:
    two = Instance({"s": ("a", "b"), "t": ("a", "b")}, [("s.a", "t.a"), ("s.b", "t.b")])
    assert is_safe(two.query, [Scheme("s", ("a", "b")), Scheme("t", ("a", "b"))])


def test_definition_8_any_partner_of_an_attribute_will_do() -> None:
    """t(a, b) is reached from u with v, though a joins s as well."""
    streams = {"s": ("a",), "u": ("a", "c"), "v": ("b", "c"), "t": ("a", "b")}
    equal = [("s.a", "t.a"), ("u.a", "t.a"), ("v.b", "t.b"), ("u.c", "v.c")]
    schemes = [Scheme("t", ("a", "b")), Scheme("v", ("c",)), Scheme("s", ("a",))]
    assert isinstance(check(Instance(streams, equal).query, schemes).state("u"), Purgeable)


def test_the_generalized_chained_purge_as_printed_loses_a_result() -> None:
    """It takes the values of step i from the stored rows of S_i: here S3 has none, so nothing would be waited for."""
    query, schemes = Instance(STREAMS, CYCLE).query, [scheme("s2(b)"), scheme("s3(a, c)")]
    t, stored = row("s1", "a1", "b1"), {"s2": [row("s2", "b1", "c1")], "s3": []}
    waits = chained_purge(query, schemes, stored, [Punctuation(schemes[0], ("b1",))], t)
    assert waits is not None
    assert waits.missing == (frozenset({Punctuation(schemes[1], ("a1", "c1"))}),)


def test_section_5_1_a_punctuation_is_purged_by_those_on_its_own_attributes_only() -> None:
    figure_5 = [scheme("s1(b)"), scheme("s2(c)"), scheme("s3(a)")]
    states = punctuation_states(Instance(STREAMS, CYCLE).query, figure_5)
    assert [state.keeping.value for state in states] == ["forever", "forever", "forever"]
    states = punctuation_states(Instance(STREAMS, CYCLE).query, [*figure_5, scheme("s2(b)")])
    assert [(str(s.scheme), *map(str, s.purged_by)) for s in states if s.bounded] == [
        ("s1(b)", "s2(b)"),
        ("s2(b)", "s1(b)"),
    ]


def test_section_5_1_a_lifespan_bounds_punctuations() -> None:
    query = Instance(STREAMS, CHAIN).query
    (state,) = punctuation_states(query, [Scheme("s2", ("b",), lifespan=16_380_000_000)])
    assert (state.keeping.value, state.bounded) == ("lifespan", True)
