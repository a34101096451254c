"""What 001 says of its examples, and where it errs: implication over the assertions of the example files."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import penstock
from penstock.catalog import AssertionDef, Catalog
from penstock.elimination import Answer, implication
from penstock.elimination.constraints import Constraint
from penstock.elimination.implication import decide
from penstock.elimination.translation import Theory, goal_of, theory_of
from penstock.sql import bind_text

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).parent / "golden"
SYN_FLOOD = (ROOT / "examples" / "syn_flood.sql").read_text().partition("CREATE QUERY")[0]

KEY = "FOR {s} x, {s} y WHERE x.id = y.id THEN x.ip = y.ip AND x.time = y.time"
NEAR = "y.time >= x.time AND y.time - x.time <= INTERVAL 5 SECONDS"
WINDOW = f"FOR {{s}} x, {{t}} y WHERE x.ip = y.ip AND {NEAR} THEN x.id = y.id"
IDENTITY = f"FOR {{s}} x, {{t}} y WHERE x.id = y.id THEN x.ip = y.ip AND {NEAR}"
INCLUSION = (
    "FOR {t} y THEN EXISTS {s} x WHERE x.id = y.id AND x.ip = y.ip AND y.time >= x.time "
    "AND y.time - x.time <= INTERVAL {e} SECONDS"
)

#: Example 9 composes window, join and anti-join elimination: for SYN with SYN-ACK, for SYN-ACK with ACK, and for both.
EXAMPLE_9 = [
    shape.format(s=s, t=t, e=e)
    for s, t, e in (("syn", "synack", 1), ("synack", "ack", 1), ("syn", "ack", 2))
    for shape in (WINDOW, IDENTITY, KEY, KEY.replace("{s}", "{t}"), INCLUSION)
]


def turns(text: str, theory: Theory, catalog: Catalog) -> tuple[Answer, int]:
    bound = bind_text(f"CREATE ASSERTION goal {text}", "<goal>", catalog).checked().catalog.get("goal")
    assert isinstance(bound, AssertionDef)
    goal = goal_of(bound, catalog)
    assert isinstance(goal, Constraint)
    decision = decide(theory.constraints, goal)
    return decision.answer, decision.turns


def in_units(text: str, unit: str) -> str:
    return re.sub(r"(\d+) SECONDS?", rf"\1 {unit}", text)


@pytest.mark.parametrize("unit", ["SECONDS", "MICROSECONDS", "DAYS"])
def test_the_conditions_of_example_9_take_few_turns_whatever_the_constants(unit: str) -> None:
    catalog = bind_text(in_units(SYN_FLOOD, unit)).checked().catalog
    theory = theory_of(catalog)
    assert len(EXAMPLE_9) == 15
    decided = [turns(in_units(text, unit), theory, catalog) for text in EXAMPLE_9]
    # ip tells SYN packets apart from SYN-ACK packets only, not from ACK packets: the composed window is not implied.
    assert [answer.value for answer, _ in decided].count("implied") == 14
    assert decided[10][0] is Answer.NOT_IMPLIED
    assert max(count for _, count in decided) <= 12


def without(text: str, *names: str) -> str:
    return text + "".join(f"\nDROP ASSERTION {name};" for name in names)


@pytest.mark.parametrize("name", ["synack_after_syn", "ack_after_synack"])
def test_of_example_2_iv_and_v_follow_from_the_others(name: str) -> None:
    assert penstock.implies(without(SYN_FLOOD, *{"synack_after_syn", "ack_after_synack"} - {name}), name)


@pytest.mark.parametrize(("seconds", "answer"), [(9, Answer.IMPLIED), (10, Answer.NOT_IMPLIED)])
def test_vii_follows_from_the_others_for_windows_up_to_nine_seconds(seconds: int, answer: Answer) -> None:
    goal = (
        "FOR synack sa, ack a WHERE sa.ip = a.ip AND a.time >= sa.time "
        f"AND a.time - sa.time <= INTERVAL {seconds} SECONDS THEN sa.id = a.id"
    )
    assert penstock.implies(without(SYN_FLOOD, "synack_ip"), goal).answer is answer


def test_window_elimination_needs_both_ends_of_the_window() -> None:
    """As printed, 4.1 bounds the difference of times from one side only: then the condition does not follow."""
    one_sided = "FOR syn x, synack y WHERE x.ip = y.ip AND y.time - x.time <= INTERVAL 5 SECONDS THEN x.id = y.id"
    assert penstock.implies(SYN_FLOOD, one_sided).answer is Answer.NOT_IMPLIED


def test_the_inclusion_of_join_elimination_is_of_s2_in_s1() -> None:
    """As printed, 4.2 asks for S1 in S2, which does not follow in its example."""
    printed = (
        "FOR syn x THEN EXISTS synack y WHERE x.id = y.id AND x.ip = y.ip AND y.time - x.time <= INTERVAL 1 SECOND"
    )
    assert penstock.implies(SYN_FLOOD, printed).answer is Answer.NOT_IMPLIED
    assert penstock.implies(SYN_FLOOD, INCLUSION.format(s="syn", t="synack", e=1))


def test_errors_add_along_a_chain() -> None:
    assert penstock.implies(SYN_FLOOD, INCLUSION.format(s="syn", t="ack", e=2))
    assert penstock.implies(SYN_FLOOD, INCLUSION.format(s="syn", t="ack", e=1)).answer is Answer.NOT_IMPLIED


def test_scaling_time_would_be_unsound() -> None:
    """n points of time between constants need n units: three rows a microsecond apart fit into 3 and not into 2."""
    text = """
        CREATE STREAM a (time BIGINT) TIMESTAMP BY time;
        CREATE ASSERTION near FOR a x, a y THEN x.time - y.time <= {most};
    """
    goal = "FOR a x, a y, a z, a w WHERE x.time < y.time AND y.time < z.time AND z.time < w.time THEN FALSE"
    assert penstock.implies(text.format(most=2), goal)
    assert penstock.implies(text.format(most=3), goal).answer is Answer.NOT_IMPLIED


CIRCLE = """
    CREATE STREAM a (k BIGINT, time BIGINT) TIMESTAMP BY time;
    CREATE STREAM b (k BIGINT, time BIGINT) TIMESTAMP BY time;
    CREATE ASSERTION ab FOR a x THEN EXISTS b y WHERE y.k = x.k AND y.time {op} x.time;
    CREATE ASSERTION ba FOR b x THEN EXISTS a y WHERE y.k = x.k AND y.time {op} x.time;
"""


def test_what_always_follows_needs_an_infinite_counter_model() -> None:
    answer = penstock.implies(CIRCLE.format(op=">"), "FOR a x THEN x.time < 0")
    assert answer.answer is Answer.NOT_IMPLIED
    assert answer.counter_model is not None
    assert all(row.period for row in answer.counter_model)


def test_what_always_precedes_cannot_be_for_a_first_event_exists() -> None:
    answer = penstock.implies(CIRCLE.format(op="<"), "FOR a x THEN x.time < 0")
    assert answer
    assert "let first_x1 be the first row" in str(answer)


@pytest.mark.parametrize("name", ["syn_flood", "join_elimination", "subway"])
def test_proofs_and_counter_models_of_the_examples(name: str) -> None:
    catalog = bind_text((ROOT / "examples" / f"{name}.sql").read_text()).checked().catalog
    assertions = [d for d in catalog.definitions.values() if isinstance(d, AssertionDef)]
    text = "\n\n".join(str(implication(assertion, catalog)) for assertion in assertions) + "\n"
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("PENSTOCK_GOLDEN") == "rewrite":
        path.write_text(text)
    assert text == path.read_text(), "`make golden` rewrites this"
