"""The part of the page's document that a run does not change: what is asked, by which operators, within which bounds.

A node is a stream, a table, an operator or the result; an edge says where rows go. What a node keeps is described
by the pieces of state that the register judged, with their proofs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from penstock.algebra.physical import Received, Scan
from penstock.algebra.printing import Json
from penstock.algebra.relations import Aggregate, Distinct, Query, Relation, SetOp, Table, walk_relations
from penstock.catalog import StreamDef
from penstock.closing.bounds import MOST
from penstock.closing.group_closers import GroupEnding
from penstock.closing.physical_join import PhysicalJoin
from penstock.errors import Origin, Span
from penstock.masking import MASK, masked, secret_spans
from penstock.plan.explain import fragments_json, operator_name
from penstock.plan.fragments import Fragment, Plan
from penstock.plan.sharing import sharing
from penstock.register import Verdict
from penstock.register.states import State, StatefulOperator

#: The version of the document, which the page and files of runs carry.
SCHEMA = 1

#: A name, and a window behind it.
_WINDOWED = re.compile(r'[\w.`"]+\s*\[[^\]]*\]')

_JOINS = (StatefulOperator.JOIN, StatefulOperator.SEMI_JOIN, StatefulOperator.ANTI_JOIN)


@dataclass(frozen=True, slots=True)
class Asked:
    """A query that runs: its plan, its verdict, and where its text stands."""

    query: Query
    plan: Plan
    verdict: Verdict
    origin: Origin | None = None
    #: Of each join that is not run why not.
    left_out: tuple[str, ...] = ()


def plan_document(title: str, engine: str, asked: Sequence[Asked]) -> dict[str, Json]:
    """Returns what is known of queries before they run."""
    texts = _Texts()
    shared = _shared(asked)
    queries: list[Json] = []
    nodes: dict[str, dict[str, Json]] = {}
    edges: list[Json] = []
    for each in asked:
        queries.append(_query_json(each, texts))
        for fragment in each.plan.fragments:
            for node in _fragment_nodes(each, fragment, texts, shared):
                nodes.setdefault(str(node["id"]), node)
            edges += _fragment_edges(each, fragment)
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


def entity_of(query: str, fragment: int | None, operator: str, stream: str | None) -> str:
    """Returns the node that a line of metrics is about.

    >>> entity_of("gain", 0, "join2", None), entity_of("gain", None, "source", "bid")
    ('gain/0/join2', 'source/bid')
    """
    if operator in ("source", "filter") and stream is not None:
        return f"source/{stream}"
    return f"{query}/{operator}" if fragment is None else f"{query}/{fragment}/{operator}"


def _query_json(asked: Asked, texts: _Texts) -> Json:
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
    return _operator_id(asked.query.name, asked.plan.last.number, operator_name(asked.plan.last.root, 0))


def _operator_id(query: str, fragment: int, operator: str) -> str:
    return entity_of(query, fragment, operator, None)


def _fragment_nodes(
    asked: Asked, fragment: Fragment, texts: _Texts, shared: Mapping[str, list[Json]]
) -> Iterator[dict[str, Json]]:
    """Yields the operators of a fragment, and the streams and tables that it reads."""
    explained = fragments_json(asked.plan)[fragment.number]
    assert isinstance(explained, dict)
    described = explained["operators"]
    assert isinstance(described, list)
    bounds = _bounds(asked, fragment)
    for number, (node, more) in enumerate(zip(walk_relations(fragment.root), described, strict=True)):
        assert isinstance(more, dict)
        name = operator_name(node, number)
        key = _operator_id(asked.query.name, fragment.number, name)
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
            "spans": [] if asked.origin is None else _spans(node, asked.origin, texts),
            "bounds": [_bound_json(state, copies) for state, copies in bounds.get(number, [])],
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


def _fragment_edges(asked: Asked, fragment: Fragment) -> Iterator[dict[str, Json]]:
    """Yields from where each operator gets its rows. Evidence is read for what it says of other rows."""
    numbered = {id(node): number for number, node in enumerate(walk_relations(fragment.root))}

    def key(node: Relation) -> str:
        name = operator_name(node, numbered[id(node)])
        return _operator_id(asked.query.name, fragment.number, name)

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
                sent = _operator_id(asked.query.name, sender, roots[sender])
                yield {"from": sent, "to": key(node), "kind": "exchange"}


def _bounds(asked: Asked, fragment: Fragment) -> dict[int, list[tuple[State, int]]]:
    """Returns by operator of a fragment the pieces of state that it holds, and in how many cells each of them is."""
    found: dict[int, list[tuple[State, int]]] = {}
    numbered = list(enumerate(walk_relations(fragment.root)))
    for state in asked.verdict.states:
        holder = next((number for number, node in numbered if _holds(node, state)), None)
        if holder is not None:
            found.setdefault(holder, []).append((state, _copies(fragment, state)))
    return found


def _holds(node: Relation, state: State) -> bool:
    """Returns whether an operator holds a piece of state: rows of a stream are in the window of its occurrence."""
    if state.stream is not None:
        return isinstance(node, Scan) and node.stream.occurrence == state.stream
    match state.holder:
        case StatefulOperator.GROUP_BY | StatefulOperator.AGGREGATE_VALUES:
            return isinstance(node, Aggregate) and node.schema[0].scope == state.scope
        case StatefulOperator.DISTINCT:
            return isinstance(node, Distinct) and node.schema[0].scope == state.scope
        case StatefulOperator.SET_OPERATION:
            return isinstance(node, SetOp) and node.columns[0].scope == state.scope
    return state.holder in _JOINS and isinstance(node, PhysicalJoin)


def _copies(fragment: Fragment, state: State) -> int:
    """Returns in how many cells what is counted once in a bound may be kept."""
    routes = [r for r in fragment.routes if isinstance(r.leaf, Scan) and r.leaf.stream.occurrence == state.stream]
    if routes:
        return max(fragment.replication(route) for route in routes)
    return fragment.cells if state.stream is None and state.holder in _JOINS else 1


def _bound_json(state: State, copies: int) -> Json:
    size = state.bound.size
    return {
        "holder": state.holder.value,
        "stream": state.stream,
        "bound": state.bound.kind.value,
        "words": state.bound.words,
        "size": size * copies if size is not None and size < MOST else None,
        "copies": copies,
        "by": state.by.value,
        "because": state.because,
        "proof": list(state.proof.lines()),
        "leans_on": list(state.leans_on),
    }


def _spans(node: Relation, origin: Origin, texts: _Texts) -> list[Json]:
    """Returns the parts of the text that an operator comes from: an occurrence, a grouping, or those that it joins."""
    scopes: list[str] = []
    match node:
        case Scan(stream):
            scopes = [stream.occurrence]
        case Table():
            scopes = [node.occurrence]
        case Aggregate() | Distinct() | SetOp():
            scopes = [node.schema[0].scope] if node.schema else []
        case GroupEnding():
            return _spans(node.input, origin, texts)
        case PhysicalJoin():
            leaves = (leaf for operand in node.operands for leaf in walk_relations(operand))
            scopes = [leaf.stream.occurrence for leaf in leaves if isinstance(leaf, Scan)]
    places = [origin.places.scopes[scope] for scope in dict.fromkeys(scopes) if scope in origin.places.scopes]
    return [texts.place(origin, _with_window(origin, span)) for span in places or [origin.places.query]]


def _with_window(origin: Origin, span: Span) -> Span:
    """Returns the place of an occurrence with the window behind it."""
    found = _WINDOWED.match(origin.source.text, span.start)
    return span if found is None else Span(span.start, max(span.end, found.end()))


def _shared(asked: Sequence[Asked]) -> dict[str, list[Json]]:
    """Returns of each window that several queries read where else it is read."""
    groups: dict[int, list[str]] = {}
    readers = sharing([each.plan for each in asked]).readers
    for each in asked:
        for fragment in each.plan.fragments:
            for number, node in enumerate(walk_relations(fragment.root)):
                for reader, window in readers:
                    if reader is node:
                        key = _operator_id(each.query.name, fragment.number, operator_name(node, number))
                        groups.setdefault(id(window), []).append(key)
    return {key: [other for other in keys if other != key] for keys in groups.values() for key in keys}


class _Texts:
    """The texts that queries were read from, without secrets, and where places stand in what is shown."""

    def __init__(self) -> None:
        self._found: list[Origin] = []

    def number(self, origin: Origin) -> int:
        for number, known in enumerate(self._found):
            if known.source is origin.source:
                return number
        self._found.append(origin)
        return len(self._found) - 1

    def place(self, origin: Origin, span: Span) -> list[Json]:
        self.number(origin)
        spans = secret_spans(origin.source.text)
        return [_shown_offset(spans, span.start), _shown_offset(spans, span.end)]

    def as_json(self) -> list[Json]:
        return [{"name": masked(each.source.file), "text": _shown(each.source.text)} for each in self._found]


def _shown(text: str) -> str:
    """Returns a text with a mask in the place of each secret.

    >>> _shown("OPTIONS (path 'a', password 'hunter2')")
    "OPTIONS (path 'a', password '***')"
    """
    parts, at = [], 0
    for start, end in secret_spans(text):
        parts += [text[at:start], MASK]
        at = end
    return "".join([*parts, text[at:]])


def _shown_offset(spans: Sequence[tuple[int, int]], offset: int) -> int:
    """Returns where a character stands once secrets are masked.

    >>> [_shown_offset([(4, 11)], offset) for offset in (2, 4, 8, 12)]
    [2, 4, 7, 8]
    """
    shift = 0
    for start, end in spans:
        if offset >= end:
            shift += len(MASK) - (end - start)
        elif offset > start:
            return start + shift + len(MASK)
    return offset + shift
