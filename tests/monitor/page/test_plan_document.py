"""The part of the document that does not change: operators, edges, bounds with proofs, and the text they come from."""

from __future__ import annotations

import json
from typing import Any

from tests.monitor.page.conftest import many_operators, watched


def nodes(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {node["id"]: node for node in document["nodes"]}


def test_all_operators_of_all_queries_are_nodes_and_streams_are_shared(document: dict[str, Any]) -> None:
    found = nodes(document)
    assert {"source/bid", "source/item", "dear/result", "latest/result", "dear/0/join2"} <= set(found)
    assert {edge["to"] for edge in document["edges"] if edge["from"] == "source/bid"} == {
        node["id"] for node in document["nodes"] if node["kind"] == "scan" and node["title"] == "b"
    }
    assert all(edge["from"] in found and edge["to"] in found for edge in document["edges"])


def test_every_metric_is_of_a_node_or_of_a_dictionary(document: dict[str, Any]) -> None:
    found = nodes(document)
    measured = {entity for frame in document["frames"] for entity in frame["values"]}
    assert {entity for entity in measured if entity not in found} <= {"dear/dictionary", "latest/dictionary"}
    assert {node["id"] for node in document["nodes"] if node["kind"] not in ("result", "table")} <= measured


def test_a_synopsis_has_the_bound_that_was_proved_and_its_proof(document: dict[str, Any]) -> None:
    window = next(node for node in document["nodes"] if node["id"].startswith("dear/") and node["title"] == "b")
    (bound,) = window["bounds"]
    assert (bound["size"], bound["words"], bound["bound"]) == (50, "50 rows of b", "window")
    assert bound["proof"][0] == bound["because"]
    groups = next(node for node in document["nodes"] if node["kind"] == "aggregate")
    assert any(each["operator"] == "group by" for each in groups["bounds"])


def test_an_operator_says_which_part_of_the_text_it_comes_from(document: dict[str, Any]) -> None:
    text = document["texts"][0]["text"]
    for node in document["nodes"]:
        for start, end in node.get("spans", ()):
            assert 0 <= start < end <= len(text)
            if node["kind"] == "scan":
                assert text[start:end].startswith(("bid [ROWS 50]", "item [RANGE 20 SECONDS]"))


def test_rows_that_are_copied_to_cells_count_in_the_bound() -> None:
    document = watched(cells=4).finish().document()
    sizes = {(bound["size"], bound["copies"]) for node in document["nodes"] for bound in node.get("bounds", ())}
    assert all(size is None or size >= 50 * copies or copies == 1 for size, copies in sizes)
    kept = [(node, node["bounds"]) for node in document["nodes"] if node["kind"] == "scan" and node.get("bounds")]
    place = document["properties"].index("state_rows")
    for node, bounds in kept:
        if all(bound["size"] is not None for bound in bounds):
            most = sum(bound["size"] for bound in bounds)
            found = [own[place] for frame in document["frames"] if (own := frame["values"].get(node["id"]))]
            assert found and max(found) <= most  # noqa: PT018


def test_no_secret_is_in_the_document() -> None:
    secret = "hunter2hunter2"
    statements = f"""
    CREATE STREAM bid (auction BIGINT, price BIGINT, ts BIGINT) TIMESTAMP BY ts;
    CREATE STREAM other (a BIGINT, ts BIGINT) TIMESTAMP BY ts
    USING kafka OPTIONS (topic 't', password '{secret}', url 'db://me:{secret}@host');
    CREATE QUERY q AS SELECT ISTREAM(auction) FROM bid [NOW];
    """
    document = watched(statements).finish().document()
    assert secret not in json.dumps(document)
    text = document["texts"][0]["text"]
    (node,) = [node for node in document["nodes"] if node["kind"] == "scan"]
    ((start, end),) = node["spans"]
    assert text[start:end] == "bid [NOW]"


def test_a_plan_of_sixty_operators_is_a_document() -> None:
    document = watched(many_operators()).recorder.document()
    assert len([node for node in document["nodes"] if node.get("query")]) >= 60
