"""A tree of joins gives what one MJoin gives, and what the reference says: whatever purges, leaves or is taken back."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.algebra.join_trees import parsed
from penstock.algebra.relations import Join, Materialised, walk_relations
from penstock.algebra.rewrites import normalise
from penstock.catalog import Catalog
from penstock.closing.join_trees import input_scope
from penstock.closing.physical_join import PhysicalJoin
from penstock.elimination import verdict_of
from penstock.elimination.running import planned
from penstock.engines.embedded import EmbeddedEngine
from penstock.monitor.bounds import live_bounds
from penstock.plan.forgetting import Forgetting
from penstock.plan.planner import plan
from penstock.plan.tree_plans import plans_of
from penstock.register.physical_form import PhysicalForm
from penstock.register.refusal import UnsafeQuery, refuse_unsafe
from penstock.sql import bind_text
from tests.engines.comparing import batch, bound, embedded, expected, logged
from tests.engines.restarting import restarted
from tests.engines.spark.pretending import pretended
from tests.generators import Case, cases
from tests.plan.joined import with_random_trees
from tests.purging.cases import Purging, _declared, data_case, filtered_case, join_edges, join_select, purging_case
from tests.seeds import seeds


def joined_case(seed: int, rows: int = 40) -> Purging:
    """A join of three to five streams, at times with a semi-join, groups or DISTINCT around it."""
    random = Random(seed)
    names = [f"s{n}" for n in range(random.choice((3, 3, 3, 4, 4, 5)))]
    edges = list(join_edges(random, names))
    declared = [one for name in names for one in _declared(random, name, names, edges)]
    select = join_select(random, names, edges)
    where = select[select.index(" FROM ") :].partition(" GROUP BY ")[0]
    exists = f"{where} AND {random.choice(('', 'NOT '))}EXISTS (SELECT * FROM closed WHERE closed.a = s1.a)"
    shapes = (
        select,
        select,
        f"SELECT {names[-1]}.a AS k, COUNT(*) AS n, SUM(s0.b) AS m, MAX(s1.a) AS x{where} GROUP BY {names[-1]}.a",
        f"SELECT COUNT(DISTINCT s1.b) AS n, MIN({names[-1]}.b) AS m{where}",
        f"SELECT DISTINCT s0.a AS x, {names[-1]}.b AS y{where}",
        f"SELECT s0.b AS x, s1.a AS y{exists}",
    )
    return data_case(random, names, declared, random.choice(shapes), rows)


@pytest.mark.parametrize("make", [joined_case, purging_case, filtered_case])
@pytest.mark.parametrize("cells", [1, 3])
def test_a_tree_gives_the_reference(make: type[Purging], cells: int) -> None:
    tried = 0
    for seed in seeds(16):
        made = make(seed)
        query = with_random_trees(Random(seed), made.query)
        if query.trees:
            tried += 1
            want = expected(made.case, made.query, made.catalog)
            assert embedded(made.case, query, made.catalog, cells, Random(seed)) == want, (seed, query.trees)
    assert tried


@pytest.mark.parametrize("block", range(2))
def test_a_tree_goes_on_from_its_pages(block: int) -> None:
    for seed in seeds(6, start=100 + 20 * block):
        made = joined_case(seed)
        query = with_random_trees(Random(seed), made.query)
        want = expected(made.case, made.query, made.catalog)
        assert restarted(made.case, query, made.catalog, 1 + seed % 2, Random(seed)) == want, (seed, query.trees)


def test_a_tree_runs_on_spark_as_anywhere() -> None:
    for seed in seeds(6, start=200):
        made = joined_case(seed)
        query = with_random_trees(Random(seed), made.query)
        want = expected(made.case, made.query, made.catalog)
        assert pretended(made.case, query, made.catalog, 3, Random(seed)) == want, (seed, query.trees)


@pytest.mark.parametrize("forgetting", [Forgetting(rows=7), Forgetting(spill=True)], ids=["lazily", "spilling"])
def test_a_tree_may_purge_lazily_and_spill(forgetting: Forgetting) -> None:
    for seed in seeds(8, start=300):
        made = joined_case(seed)
        query = with_random_trees(Random(seed), made.query)
        want = expected(made.case, made.query, made.catalog)
        assert embedded(made.case, query, made.catalog, 1, Random(seed), forgetting) == want, (seed, query.trees)


@given(cases(), st.integers(0, 2**32))
def test_trees_of_any_query_give_the_reference(case: Case, seed: int) -> None:
    query, catalog = bound(case)
    treed = with_random_trees(Random(seed), query)
    if treed.trees:
        assert embedded(case, treed, catalog, 1 + seed % 3, Random(seed)) == expected(case, query, catalog)


ONE_KEY = """
CREATE STREAM a (k BIGINT, closes INT, ts BIGINT, PUNCTUATED BY (k) WHEN closes = 1) TIMESTAMP BY ts;
CREATE STREAM b (k BIGINT, closes INT, ts BIGINT, PUNCTUATED BY (k) WHEN closes = 1) TIMESTAMP BY ts;
CREATE STREAM c (k BIGINT, closes INT, ts BIGINT, PUNCTUATED BY (k) WHEN closes = 1) TIMESTAMP BY ts;
"""


def rows(random: Random) -> list[tuple[str, tuple[int, int]]]:
    """Rows over values that drift, none after the punctuation of its value, which comes for each in the end."""
    past: list[tuple[str, tuple[int, int]]] = []
    closed: set[tuple[str, int]] = set()
    for number in range(180):
        name, value, closes = random.choice("abc"), number // 12 + random.randint(-3, 0), random.random() < 0.5
        if (name, value) not in closed:
            past.append((name, (value, int(closes))))
            closed |= {(name, value)} if closes else set()
    values = sorted({value for _, (value, _) in past})
    return past + [(name, (value, 1)) for value in values for name in "abc" if (name, value) not in closed]


@pytest.mark.parametrize("tree", ["((a b) c)", "(a (b c))"])
@pytest.mark.parametrize("seed", range(3))
def test_no_more_is_kept_of_a_subresult_than_is_open(tree: str, seed: int) -> None:
    """The register says that rows of a subresult go once their value is closed; so they do, after each row."""
    select = "SELECT a.ts AS x, b.ts AS y, c.ts AS z FROM a, b, c WHERE a.k = b.k AND b.k = c.k"
    query, catalog = bound(Case(ONE_KEY, select, {}, None, ""))
    query = replace(query, trees=(parsed(tree),))
    verdict = verdict_of(query, catalog)
    assert verdict.safe
    subresult = next(state for state in verdict.states if state.stream is None)
    assert "not yet closed" in subresult.bound.words
    engine = EmbeddedEngine(query, catalog)
    streams = {stream.name: stream for stream in catalog.streams}
    came: dict[str, list[tuple[int, int]]] = {name: [] for name in streams}
    below = [name for name in "abc" if name in subresult.scope]
    for ts, (name, row) in enumerate(rows(Random(seed)), start=1):
        came[name].append(row)
        engine.push(name, batch(streams[name], [(*row, ts)]))
        engine._step(ts + 1)
        closed = set.intersection(*({value for value, closes in came[each] if closes} for each in "abc"))
        one, other = (came[each] for each in below)
        most = sum(value == theirs and value not in closed for value, _ in one for theirs, _ in other)
        held = {line.operator: line.state_rows for line in engine.metrics()}
        assert next(kept for operator, kept in held.items() if operator.startswith("keep")) <= most, (ts, held)
    assert not any(held.values()), "all values are closed"


def test_an_unsafe_tree_is_refused_and_it_is_said_that_the_query_is_safe_without_it() -> None:
    text = """
    CREATE STREAM a (k BIGINT, ts BIGINT, PUNCTUATED BY (k) FROM pa (k)) TIMESTAMP BY ts;
    CREATE STREAM b (k BIGINT, m BIGINT, ts BIGINT, PUNCTUATED BY (k) FROM pa (k), PUNCTUATED BY (m) FROM pc (m))
        TIMESTAMP BY ts;
    CREATE STREAM c (m BIGINT, ts BIGINT, PUNCTUATED BY (m) FROM pc (m)) TIMESTAMP BY ts;
    CREATE STREAM pa (k BIGINT, ts BIGINT) TIMESTAMP BY ts;
    CREATE STREAM pc (m BIGINT, ts BIGINT) TIMESTAMP BY ts;
    CREATE QUERY q WITH (plan = '((a b) c)') AS SELECT a.ts AS x FROM a, b, c WHERE a.k = b.k AND b.m = c.m{};
    """
    bound_ = bind_text(text.format("")).checked()
    verdict = verdict_of(bound_.queries[0], bound_.catalog)
    assert "by the plan ((a ⋈ b) ⋈ c), " in verdict.message
    assert verdict.message.endswith("; without that plan it is safe")
    assert verdict.actions == ()
    assert verdict.witness is None or verdict.hint is None
    with pytest.raises(UnsafeQuery):
        refuse_unsafe(verdict)
    allowed = bind_text(text.format(" ALLOW UNBOUNDED")).checked()
    refuse_unsafe(verdict_of(allowed.queries[0], allowed.catalog))
    assert joins_of_plan(allowed.queries[0], allowed.catalog) == [2, 2]


def test_a_query_that_is_unsafe_anyway_is_advised_as_without_the_tree() -> None:
    text = """
    CREATE STREAM a (k BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
    CREATE STREAM b (k BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
    CREATE STREAM c (k BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
    CREATE QUERY q {} AS SELECT a.ts AS x FROM a, b, c WHERE a.k = b.k AND b.k = c.k;
    """
    with_, without = (bind_text(text.format(plan_)).checked() for plan_ in ("WITH (plan = '((a b) c)')", ""))
    verdicts = [verdict_of(each.queries[0], each.catalog) for each in (with_, without)]
    assert verdicts[0].message == verdicts[1].message
    assert verdicts[0].actions == verdicts[1].actions
    assert verdicts[0].hint == verdicts[1].hint


def joins_of_plan(query, catalog: Catalog) -> list[int]:  # type: ignore[no-untyped-def]
    """How many inputs each join of a plan has, from the root down."""
    fragments = plan(normalise(query), 1, catalog).fragments
    nodes = [node for each in fragments for node in walk_relations(each.root) if isinstance(node, PhysicalJoin)]
    return [len(node.operands) for node in nodes]


def test_the_register_finds_what_a_run_keeps_of_each_input_of_a_tree() -> None:
    """What it does not find would count as if no join kept it."""
    subresults = 0
    for seed in seeds(30, start=400):
        made = joined_case(seed)
        tree = planned(with_random_trees(Random(seed), made.query))
        kept = PhysicalForm(tree.relation, made.catalog)._retentions
        for node in walk_relations(tree.relation):
            for operand in node.inputs if isinstance(node, Join) else ():
                subresults += isinstance(operand, Materialised)
                assert input_scope(operand) in kept or not isinstance(operand, Materialised), (
                    seed,
                    input_scope(operand),
                )
    assert subresults > 30


def test_the_bound_of_a_subresult_is_shown_at_the_join_that_keeps_it() -> None:
    select = "SELECT a.ts AS x, b.ts AS y, c.ts AS z FROM a, b, c WHERE a.k = b.k AND b.k = c.k"
    query, catalog = bound(Case(ONE_KEY, select, {}, None, ""))
    query = replace(query, trees=(parsed("((a b) c)"),))
    shown = live_bounds(verdict_of(query, catalog), plan(normalise(query), 1, catalog))
    scopes = {place: [each.state.scope for each in held.held] for place, held in shown.items()}
    assert scopes[0, "join1"] == ["(a ⋈ b)"]


def test_what_is_left_out_of_a_join_is_left_out_of_its_tree() -> None:
    """The occurrence that a key makes needless is not read, and the tree is of the others."""
    text = """
    CREATE STREAM o (id BIGINT, k BIGINT, ts TIMESTAMP, UNIQUE (id)) TIMESTAMP BY ts;
    CREATE STREAM b (k BIGINT, m BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
    CREATE STREAM c (m BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
    CREATE QUERY q WITH (plan = '((x y) (b c))') AS SELECT ISTREAM(x.k, y.k AS l)
    FROM o [NOW] x, o y, b [ROWS 5], c [ROWS 5] WHERE x.id = y.id AND x.k = b.k AND b.m = c.m;
    """
    found = bind_text(text).checked()
    assert joins_of_plan(found.queries[0], found.catalog) == [2, 2]
    (plans,) = plans_of(found.queries[0], found.catalog)
    assert [str(each.tree) for each in plans.plans if each.runs] == ["(x ⋈ (b ⋈ c))"]


def test_a_tree_shares_nothing_with_what_it_is_not_of() -> None:
    """Two joins, of which one is a tree."""
    text = """
    CREATE STREAM a (k BIGINT, ts BIGINT) TIMESTAMP BY ts;
    CREATE STREAM b (k BIGINT, ts BIGINT) TIMESTAMP BY ts;
    CREATE STREAM c (k BIGINT, ts BIGINT) TIMESTAMP BY ts;
    CREATE QUERY q WITH (plan = '((x y) z)') AS SELECT x.k FROM a [ROWS 3] x, b [ROWS 3] y, c [ROWS 3] z
    WHERE x.k = y.k AND y.k = z.k UNION ALL SELECT a.k FROM a [ROWS 2], b [ROWS 2], c [ROWS 2]
    WHERE a.k = b.k AND b.k = c.k;
    """
    found = bind_text(text).checked()
    query, catalog = found.queries[0], found.catalog
    assert joins_of_plan(query, catalog) == [2, 2, 3]
    random = Random(1)
    data = {name: [(random.randint(0, 2), ts) for ts in range(n, 60, 3)] for n, name in enumerate("abc")}
    case = Case("", "", data, None, "")
    want = expected(case, query, catalog)
    assert want
    assert embedded(case, query, catalog, 2, Random(3)) == want


def test_results_of_one_instant_net_whatever_the_tree() -> None:
    """A row that leaves and one like it that comes at one instant: the subresult says both, the result neither."""
    text = """
    CREATE STREAM a (k BIGINT, ts BIGINT) TIMESTAMP BY ts;
    CREATE STREAM b (k BIGINT, ts BIGINT) TIMESTAMP BY ts;
    CREATE STREAM c (k BIGINT, ts BIGINT) TIMESTAMP BY ts;
    CREATE QUERY q WITH (plan = '((a b) c)') AS SELECT a.k FROM a [ROWS 1], b, c WHERE a.k = b.k AND b.k = c.k;
    """
    found = bind_text(text).checked()
    query, catalog = found.queries[0], found.catalog
    engine = EmbeddedEngine(query, catalog)
    definitions = {stream.name: stream for stream in catalog.streams}
    for name, ts in (("a", 1), ("b", 1), ("c", 1), ("a", 2), ("a", 3), ("b", 3), ("c", 3)):
        engine.push(name, batch(definitions[name], [(7, ts)]))
    log = logged(engine.finish(), query)
    assert log == {(1, "+", 7): 1, (3, "+", 7): 3}
