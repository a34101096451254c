"""Advice tries sets in a hurry, with what stays the same worked out once: it must say what the whole verdict says."""

from __future__ import annotations

from random import Random

from penstock.algebra.rewrites import normalise
from penstock.catalog import Clustered, Constraint, Ordered, Punctuated, Reference, Unique, WithinRows, WithinTime
from penstock.register import check_query
from penstock.register.advice import WINDOW, Trials
from penstock.register.steps import Action, AddTimeRange, AdviceStep, Declare, MakeDistinct, SetWindow
from penstock.sql import bind_text

COLUMNS = ("a", "b")
SHAPES = (
    "SELECT s.a, t.b FROM s{}, t{}, u{} WHERE {}",
    "SELECT DISTINCT s.a FROM s{}, t{}, u{} WHERE {}",
    "SELECT s.a, COUNT(*) AS n FROM s{}, t{}, u{} WHERE {} GROUP BY s.a",
    "SELECT s.a FROM s{}, t{} WHERE EXISTS (SELECT * FROM u{} WHERE {})",
    "SELECT s.a, MAX(t.b) AS n FROM s{}, t{} WHERE NOT EXISTS (SELECT * FROM u{} WHERE {}) GROUP BY s.a",
)
WINDOWS = ("", "", "", " [RANGE 1 MINUTE]", " [ROWS 3]", " [PARTITION BY a ROWS 2]")


def query_text(random: Random) -> str:
    names = "stu"
    predicates = []
    for _ in range(random.randint(1, 4)):
        left, right = random.sample(names, 2)
        compared = random.choice(("=", "=", "=", "<", "<="))
        predicates.append(f"{left}.{random.choice(COLUMNS)} {compared} {right}.{random.choice(COLUMNS)}")
    if random.random() < 0.3:
        predicates.append(f"{random.choice(names)}.{random.choice(COLUMNS)} BETWEEN 1 AND 4")
    declared = "".join(f"CREATE STREAM {name} (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts;" for name in names)
    windows = [random.choice(WINDOWS) for _ in names]
    return declared + random.choice(SHAPES).format(*windows, " AND ".join(predicates))


def constraint(random: Random, stream: str) -> Constraint:
    columns = tuple(random.sample(COLUMNS, random.choice((1, 1, 2))))
    within = random.choice((WithinRows(5), WithinTime(1000)))
    other = random.choice([name for name in "stu" if name != stream])
    theirs = tuple(random.sample(COLUMNS, len(columns)))
    return random.choice(
        (
            Punctuated(columns),
            Punctuated(columns),
            Reference(columns, other, theirs, within),
            Reference(columns, other, theirs, within),
            Clustered(columns, within),
            Ordered(columns[0], within),
            Unique(columns),
        )
    )


def steps(random: Random) -> tuple[AdviceStep, ...]:
    streams = random.choices("stu", k=random.randint(0, 5))
    found: list[AdviceStep] = [Declare(stream, constraint(random, stream)) for stream in streams]
    if random.random() < 0.2:
        found.append(SetWindow(stream := random.choice("stu"), stream, WINDOW))
    if random.random() < 0.1:
        found.append(MakeDistinct())
    return tuple(dict.fromkeys(found))


def test_a_trial_says_what_the_verdict_says() -> None:
    random = Random("trials")
    safe = 0
    for _ in range(60):
        text = query_text(random)
        script = bind_text(text)
        if script.errors:  # subqueries see only what stands around them
            continue
        (query,) = script.queries
        normal = normalise(query)
        trials = Trials(normal, script.catalog)
        for _ in range(12):
            action = Action(steps(random))
            said = check_query(*action.apply(query, script.catalog)).safe
            assert trials.is_safe(action.steps) is said, (text, action)
            safe += said
    assert safe > 25


def test_a_range_of_times_is_the_same_in_normal_form() -> None:
    script = bind_text(
        "CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts; CREATE STREAM t (a BIGINT, ts BIGINT) TIMESTAMP BY ts;"
        "SELECT s.a FROM s, t WHERE s.a = t.a"
    ).checked()
    (query,) = script.queries
    normal = normalise(query)
    left, right = (c for c in normal.relation.inputs[0].schema if c.name == "ts")
    step = AddTimeRange(left, right)
    assert step.can_be_written(query)
    assert check_query(*step.apply(query, script.catalog)).safe
    assert Trials(normal, script.catalog).is_safe((step,))
