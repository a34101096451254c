"""The graph of a plan: a node is a stream, a table, an operator or the result; an edge says where rows go.

What an operator keeps is described by the pieces of state that the register judged, with their proofs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from penstock.algebra.physical import Received, Scan
from penstock.algebra.printing import Json
from penstock.algebra.relations import Relation, Table, walk_relations
from penstock.catalog import StreamDef
from penstock.closing.group_closers import GroupEnding
from penstock.closing.physical_join import PhysicalJoin
from penstock.monitor.bounds import HeldState, QueryBounds
from penstock.monitor.page.asked import Asked
from penstock.monitor.page.shown_texts import ShownTexts, spans_of
from penstock.plan.explain import fragments_json, operator_name
from penstock.plan.fragments import Fragment
from penstock.plan.sharing import sharing


def entity_of(query: str, fragment: int | None, operator: str, stream: str | None) -> str:
    """Returns the node that a line of metrics is about.

    >>> entity_of("gain", 0, "join2", None), entity_of("gain", None, "source", "bid")
    ('gain/0/join2', 'source/bid')
    """
    if operator in ("source", "filter") and stream is not None:
        return f"source/{stream}"
    return f"{query}/{operator}" if fragment is None else f"{query}/{fragment}/{operator}"


def fragment_nodes(
    asked: Asked, fragment: Fragment, bounds: QueryBounds, texts: ShownTexts, shared: Mapping[str, list[Json]]
) -> Iterator[dict[str, Json]]:
    """Yields the operators of a fragment, and the streams and tables that it reads."""
    explained = fragments_json(asked.plan)[fragment.number]
    assert isinstance(explained, dict)
    described = explained["operators"]
    assert isinstance(described, list)
    for number, (node, more) in enumerate(zip(walk_relations(fragment.root), described, strict=True)):
        assert isinstance(more, dict)
        name = operator_name(node, number)
        key = entity_of(asked.query.name, fragment.number, name, None)
        held = bounds.get((fragment.number, name))
        yield {
            "id": key,
            "kind": name.rstrip("0123456789"),
            "title": _title(node, name),
            "name": name,
            "query": asked.query.name,
            "fragment": fragment.number,
            "cells": fragment.cells,
            "detail": more["text"],
            **{choice: more[choice] for choice in ("paths", "filters") if choice in more},
            "text": None if asked.origin is None else texts.number(asked.origin),
            "spans": [] if asked.origin is None else spans_of(node, asked.origin, texts),
            "bounds": [_bound_json(each) for each in held.held] if held else [],
            **({"shared": shared[key]} if key in shared else {}),
            **({"stream": node.stream.name} if isinstance(node, Scan) else {}),
        }
        if isinstance(node, Scan):
            stream = node.stream.name
            yield {
                "id": f"source/{stream}",
                "kind": "source",
                "title": stream,
                "detail": "stream",
                "stream": stream,
                "delay": _delay(asked, stream),
            }
        elif isinstance(node, Table):
            yield {"id": f"table/{node.name}", "kind": "table", "title": node.name, "detail": "table"}


def _delay(asked: Asked, stream: str) -> int:
    """Returns by how much rows of a stream may be late, in microseconds."""
    definition = asked.verdict.catalog.get(stream)
    return definition.delay if isinstance(definition, StreamDef) else 0


def _title(node: Relation, name: str) -> str:
    """Returns what a node is called in the graph: what it reads, or what it does."""
    match node:
        case Scan(stream):
            return stream.occurrence.lstrip("_")
        case Table():
            return node.occurrence
        case Received():
            return f"from fragment {node.fragment}"
        case PhysicalJoin():
            return f"{len(node.operands)}-way join" if len(node.operands) > 2 else node.kind.value
    return name.rstrip("0123456789")


def fragment_edges(asked: Asked, fragment: Fragment) -> Iterator[dict[str, Json]]:
    """Yields from where each operator gets its rows. Evidence is read for what it says of other rows."""
    numbered = {id(node): number for number, node in enumerate(walk_relations(fragment.root))}

    def key(node: Relation) -> str:
        name = operator_name(node, numbered[id(node)])
        return entity_of(asked.query.name, fragment.number, name, None)

    roots = {each.number: operator_name(each.root, 0) for each in asked.plan.fragments}
    for node in walk_relations(fragment.root):
        operands = (
            len(node.operands) if isinstance(node, PhysicalJoin) else 1 if isinstance(node, GroupEnding) else None
        )
        for place, below in enumerate(node.inputs):
            is_evidence = operands is not None and place >= operands
            yield {"from": key(below), "to": key(node), "kind": "evidence" if is_evidence else "flow"}
        match node:
            case Scan(stream):
                yield {"from": f"source/{stream.name}", "to": key(node), "kind": "queue"}
            case Table(name):
                yield {"from": f"table/{name}", "to": key(node), "kind": "queue"}
            case Received(sender):
                sent = entity_of(asked.query.name, sender, roots[sender], None)
                yield {"from": sent, "to": key(node), "kind": "exchange"}


def _bound_json(held: HeldState) -> Json:
    state = held.state
    return {
        "operator": state.operator.value,
        "stream": state.stream,
        "bound": state.bound.kind.value,
        "words": state.bound.words,
        "size": held.size,
        "copies": held.copies,
        "by": state.by.value,
        "because": state.because,
        "proof": list(state.proof.lines()),
        "leans_on": list(state.leans_on),
    }


def shared_windows(asked: Sequence[Asked]) -> dict[str, list[Json]]:
    """Returns of each window that several queries read where else it is read."""
    groups: dict[int, list[str]] = {}
    readers = sharing([each.plan for each in asked]).readers
    for each in asked:
        for fragment in each.plan.fragments:
            for number, node in enumerate(walk_relations(fragment.root)):
                for reader, window in readers:
                    if reader is node:
                        key = entity_of(each.query.name, fragment.number, operator_name(node, number), None)
                        groups.setdefault(id(window), []).append(key)
    return {key: [other for other in keys if other != key] for keys in groups.values() for key in keys}
