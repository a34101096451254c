"""The part of the page that a run does not change: what is asked, by which operators, within which bounds."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.algebra.physical import Scan
from penstock.algebra.printing import Json
from penstock.algebra.relations import walk_relations
from penstock.masking import masked
from penstock.monitor.bounds import live_bounds
from penstock.monitor.page.asked import Asked
from penstock.monitor.page.plan_graph import entity_of, fragment_edges, fragment_nodes, shared_windows
from penstock.monitor.page.shown_texts import ShownTexts
from penstock.plan.explain import operator_name

#: The version of the document, which the page and files of runs carry.
SCHEMA = 1


def plan_document(title: str, engine: str, asked: Sequence[Asked]) -> dict[str, Json]:
    """Returns what is known of queries before they run."""
    texts = ShownTexts()
    shared = shared_windows(asked)
    queries: list[Json] = []
    nodes: dict[str, dict[str, Json]] = {}
    edges: list[Json] = []
    for each in asked:
        queries.append(_query_json(each, texts))
        bounds = live_bounds(each.verdict, each.plan)
        for fragment in each.plan.fragments:
            for node in fragment_nodes(each, fragment, bounds, texts, shared):
                nodes.setdefault(str(node["id"]), node)
            edges += fragment_edges(each, fragment)
        nodes[f"{each.query.name}/result"] = _result_json(each)
        edges.append({"from": _root_id(each), "to": f"{each.query.name}/result", "kind": "flow"})
    return {
        "schema": SCHEMA,
        "title": masked(title),
        "engine": engine,
        "texts": texts.as_json(),
        "queries": queries,
        "nodes": list(nodes.values()),
        "edges": edges,
    }


def plan_path(metrics: str) -> str:
    """Returns where the plan of a run lies: beside its file of metrics."""
    return f"{metrics}.plan.json"


def _query_json(asked: Asked, texts: ShownTexts) -> Json:
    verdict = asked.verdict
    span = None if asked.origin is None else texts.place(asked.origin, asked.origin.places.query)
    leaves = [leaf for fragment in asked.plan.fragments for leaf in walk_relations(fragment.root)]
    return {
        "name": asked.query.name,
        "text": None if asked.origin is None else texts.number(asked.origin),
        "span": span,
        "safe": verdict.safe,
        "message": verdict.message,
        "warnings": list(verdict.warnings),
        "left_out": list(asked.left_out),
        "output": [{"name": column.name, "type": str(column.type)} for column in asked.query.schema],
        "fragments": [
            {"fragment": fragment.number, "cells": fragment.cells, "shares": list(fragment.shares)}
            for fragment in asked.plan.fragments
        ],
        "reads": [*sorted({leaf.stream.name for leaf in leaves if isinstance(leaf, Scan)})],
    }


def _result_json(asked: Asked) -> dict[str, Json]:
    kind = asked.plan.kind.value if asked.plan.kind is not None else "changes"
    return {"id": f"{asked.query.name}/result", "kind": "result", "title": asked.query.name, "detail": kind}


def _root_id(asked: Asked) -> str:
    return entity_of(asked.query.name, asked.plan.last.number, operator_name(asked.plan.last.root, 0), None)
