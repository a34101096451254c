"""The plans that are listed: only safe trees are called safe, as brute force finds, and the cheapest is first."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import pytest

from penstock.algebra.join_trees import TreeJoin, TreeLeaf, flat
from penstock.algebra.named_joins import joins_of
from penstock.algebra.rewrites import normalise
from penstock.plan import tree_plans
from penstock.plan.join_statistics import NOTHING_GIVEN, JoinStatistics
from penstock.plan.join_trees import join_trees
from penstock.plan.tree_cost import CostModel, cheapest
from penstock.plan.tree_plans import JoinPlans, plans_of
from penstock.sql import bind_text
from tests.plan.joined import shape
from tests.register.punctuation.futures import Instance, random_instance
from tests.register.punctuation.test_plans import brute_force_safe, closed

#: Streams, equalities and schemes.
Schemes = Iterable[tuple[str, tuple[str, ...]]]


def script(
    streams: dict[str, tuple[str, ...]], equal: Iterable[tuple[str, str]], schemes: Schemes, seen: bool = True
) -> str:
    lines = []
    for name, columns in streams.items():
        typed = "".join(f"{column} BIGINT, " for column in columns)
        lines.append(f"CREATE STREAM p{name} ({typed}ts BIGINT) TIMESTAMP BY ts;")
        own = dict.fromkeys(", ".join(by) for stream, by in schemes if stream == name)
        said = "".join(f", PUNCTUATED BY ({by})" + (f" FROM p{name} ({by})" if seen else "") for by in own)
        lines.append(f"CREATE STREAM {name} ({typed}ts BIGINT{said}) TIMESTAMP BY ts;")
    first = next(iter(streams))
    on = " AND ".join(f"{x} = {y}" for x, y in equal)
    lines.append(f"SELECT {first}.{streams[first][0]} AS a FROM {', '.join(streams)} WHERE {on} ALLOW UNBOUNDED")
    return "\n".join(lines)


def plans(text: str, given: JoinStatistics = NOTHING_GIVEN) -> JoinPlans:
    bound = bind_text(text).checked()
    (found,) = plans_of(bound.queries[0], bound.catalog, given)
    return found


def safe(found: JoinPlans) -> set[str]:
    return {str(plan.tree) for plan in found.plans if plan.safe}


TRIANGLE = {"s1": ("a", "b"), "s2": ("b", "c"), "s3": ("a", "c")}
CYCLE = [("s1.b", "s2.b"), ("s2.c", "s3.c"), ("s3.a", "s1.a")]


def test_figure_5_is_safe_as_one_mjoin_and_as_no_tree_of_binary_joins() -> None:
    """004, 4.1.2 and figure 7: no punctuation of s2 purges rows of s1 in the lower join."""
    found = plans(script(TRIANGLE, CYCLE, [("s1", ("b",)), ("s2", ("c",)), ("s3", ("a",))], seen=False))
    assert safe(found) == {"(s1 ⋈ s2 ⋈ s3)"}
    reasons = {str(plan.tree): plan.bound for plan in found.plans if not plan.safe}
    assert reasons["((s1 ⋈ s2) ⋈ s3)"] == "every row of s1 is kept, because a row of s2 may always match it"
    assert found.cheapest is not None
    assert found.cheapest.runs


def test_figure_8_with_schemes_of_two_attributes_is_safe_as_one_mjoin() -> None:
    schemes = [("s1", ("b",)), ("s2", ("b",)), ("s2", ("c",)), ("s3", ("a", "c"))]
    found = plans(script(TRIANGLE, CYCLE, schemes, seen=False))
    assert safe(found) == {"(s1 ⋈ s2 ⋈ s3)"}


def test_strongly_connected_subgraphs_make_subresults() -> None:
    """004, 5.2: streams that are all joined and punctuated on one attribute may be put together in any way."""
    one = dict.fromkeys(("s1", "s2", "s3"), ("a",))
    equal = [("s1.a", "s2.a"), ("s2.a", "s3.a")]
    assert safe(plans(script(one, equal, [(name, ("a",)) for name in one]))) == {
        "(s1 ⋈ s2 ⋈ s3)",
        "((s1 ⋈ s2) ⋈ s3)",
        "((s1 ⋈ s3) ⋈ s2)",
        "(s1 ⋈ (s2 ⋈ s3))",
    }


def test_an_unsafe_query_has_no_safe_plan() -> None:
    found = plans(script(TRIANGLE, CYCLE, [("s1", ("b",))]))
    assert not safe(found)
    assert found.cheapest is None


def test_a_table_below_does_not_end_the_rows_of_a_subresult() -> None:
    """Rows of u wait for all of s, whatever is known of t."""
    text = """
    CREATE STREAM p (k BIGINT, ts BIGINT) TIMESTAMP BY ts;
    CREATE STREAM s (k BIGINT, x BIGINT, ts BIGINT{}) TIMESTAMP BY ts;
    CREATE STREAM u (k BIGINT, ts BIGINT, PUNCTUATED BY (k) FROM p (k)) TIMESTAMP BY ts;
    CREATE TABLE t (x BIGINT);
    SELECT s.x FROM s, t, u WHERE s.k = u.k AND s.x = t.x ALLOW UNBOUNDED
    """
    assert not safe(plans(text.format("")))
    assert safe(plans(text.format(", PUNCTUATED BY (k) FROM p (k)"))) >= {"(s ⋈ t ⋈ u)", "((s ⋈ t) ⋈ u)"}


@pytest.mark.parametrize("block", range(3))
def test_a_tree_that_is_called_safe_has_no_state_with_a_future(block: int) -> None:
    """Sound first: brute force finds no row that joins what each join of the tree has let go."""
    found_safe = 0
    for seed in range(block * 12, block * 12 + 12):
        instance = closed(random_instance(Random(seed), streams=4, attributes=2))
        if len(instance.streams) < 3:
            continue
        instance.schemes += [(name, (own[0],), None) for name, own in instance.streams.items() if seed % 3]
        schemes = [(name, by) for name, by, _ in instance.schemes]
        for found in _plans(instance, schemes):
            for plan in found.plans:
                if plan.safe:
                    assert brute_force_safe(instance, plan.tree), (seed, str(plan.tree), instance)
                    found_safe += not plan.tree.is_flat
    assert found_safe > 2


def _plans(instance: Instance, schemes: Schemes) -> tuple[JoinPlans, ...]:
    bound = bind_text(script(instance.streams, instance.equal, schemes)).checked()
    return plans_of(bound.queries[0], bound.catalog)


WINDOWED = """
CREATE STREAM a (k BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM b (k BIGINT, m BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM c (m BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE QUERY q {} AS SELECT ISTREAM(a.k, b.m)
FROM a [RANGE 1 MINUTE], b [RANGE 1 MINUTE], c [RANGE 1 MINUTE] WHERE a.k = b.k AND b.m = c.m;
"""
#: Section 5.3: a and b change seldom, and c often; each of its rows would find the rows of both again.
FAST = JoinStatistics(
    rates={"a": 1, "b": 1, "c": 10_000}, rows={"a": 5_000, "b": 5_000, "c": 5_000}, values={"b.m": 500, "c.m": 500}
)


def test_where_one_input_is_much_faster_the_others_make_a_subresult() -> None:
    assert str(plans(WINDOWED.format(""), FAST).plans[0].tree) == "((a ⋈ b) ⋈ c)"


def test_where_all_are_alike_one_mjoin_costs_least() -> None:
    assert plans(WINDOWED.format("")).plans[0].tree.is_flat


def test_the_plan_that_runs_is_marked_and_it_is_the_mjoin_unless_another_is_named() -> None:
    marked = [str(plan.tree) for plan in plans(WINDOWED.format(""), FAST).plans if plan.runs]
    assert marked == ["(a ⋈ b ⋈ c)"]
    marked = [str(p.tree) for p in plans(WINDOWED.format("WITH (plan = '(C (b a))')"), FAST).plans if p.runs]
    assert marked == ["((a ⋈ b) ⋈ c)"]


def test_a_product_that_is_named_is_listed_among_the_trees() -> None:
    marked = [plan for plan in plans(WINDOWED.format("WITH (plan = '((a c) b)')")).plans if plan.runs]
    assert [str(plan.tree) for plan in marked] == ["((a ⋈ c) ⋈ b)"]
    assert marked[0].safe


@pytest.mark.parametrize("seed", range(8))
def test_plans_stand_in_the_order_of_their_costs_which_statistics_decide(seed: int) -> None:
    random = Random(seed)
    bound = bind_text(WINDOWED.format("")).checked()
    (join,) = joins_of(normalise(bound.queries[0]).relation).values()
    given = JoinStatistics(
        rates={name: random.uniform(1, 1000) for name in "abc"}, values={"b.k": random.uniform(1, 500)}
    )
    model = CostModel(join, bound.catalog, given, emits_once=True)
    trees = [tree for tree, _ in cheapest(join_trees(join), model)]
    costs = [model.cost(tree).work for tree in trees]
    assert costs == sorted(costs)
    listed = plans(WINDOWED.format(""), given).plans
    assert [shape(plan.tree) for plan in listed] == [shape(tree) for tree in trees]


def test_a_subresult_has_the_rows_that_its_inputs_make() -> None:
    """A row of b finds 10 of a, of which 500 take 50 values; there are 100 rows of b."""
    bound = bind_text(WINDOWED.format("")).checked()
    (join,) = joins_of(normalise(bound.queries[0]).relation).values()
    given = JoinStatistics(rows={"a": 500, "b": 100}, rates={"a": 5, "b": 1}, values={"a.k": 50, "b.k": 50})
    model = CostModel(join, bound.catalog, given)
    assert model.rows(frozenset("ab")) == pytest.approx(1000)
    # Rows come and go: 10 changes of a, each in 2 results, and 2 of b, each in 10.
    assert model.changes(frozenset("ab")) == pytest.approx(10 * 2 + 2 * 10)
    assert model.arrivals(frozenset("ab")) == pytest.approx(5 * 2 + 1 * 10)
    rows_of_c = model.rows(frozenset("c"))
    assert model.cost(flat("abc")).rows == pytest.approx(600 + rows_of_c)
    assert model.cost(TreeJoin((flat("ab"), TreeLeaf("c")))).rows == pytest.approx(1600 + rows_of_c)


def test_trees_beyond_a_number_are_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_plans, "MOST_JUDGED", 1)
    found = plans(WINDOWED.format(""), FAST)
    assert [str(plan.tree) for plan in found.plans] == ["((a ⋈ b) ⋈ c)", "(a ⋈ b ⋈ c)"]
    assert found.unjudged == 1
    assert found.lines()[-1] == "  and 1 more, of which 1 were not judged"


def test_a_tree_over_an_unsafe_subresult_is_not_judged_again(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[object] = []
    check = tree_plans.check_query

    def counting(*args: object) -> object:
        judged.append(args)
        return check(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(tree_plans, "check_query", counting)
    streams = {f"s{n}": ("a", "b") for n in range(4)}
    found = plans(script(streams, [(f"s{n}.b", f"s{n + 1}.a") for n in range(3)], []))
    assert len(judged) < len(found.plans)
    assert not safe(found)
