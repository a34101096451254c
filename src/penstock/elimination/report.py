"""Answers and notices as JSON, in the version of all our outputs."""

from __future__ import annotations

from penstock.algebra.printing import Json
from penstock.catalog import StreamDef
from penstock.elimination.assertions import AssertionNotice, Contradictory, Implication, Redundant
from penstock.elimination.proofs import proof_text


def implication_json(answer: Implication) -> dict[str, Json]:
    proof = None
    if answer.proof is not None and answer.goal is not None:
        proof = list[Json](proof_text(answer.goal, answer.proof).splitlines())
    return {
        "name": answer.name,
        "answer": answer.answer.value,
        "leans_on": list(answer.leans_on),
        "proof": proof,
        "counter_model": None if answer.counter_model is None else _rows(answer),
        "reason": answer.reason,
    }


def _rows(answer: Implication) -> list[Json]:
    """Each row with its values as csv has them, None for NULL, and its period if it comes again."""
    rows: list[Json] = []
    for row in answer.counter_model or ():
        stream = answer.catalog.get(row.stream)
        assert isinstance(stream, StreamDef)
        texts = zip(stream.attributes, row.texts(stream.attributes), row.values, strict=True)
        values: dict[str, Json] = {column.name: None if value is None else text for column, text, value in texts}
        rows.append({"stream": row.stream, "values": values, "period": row.period or None})
    return rows


def notice_json(notice: AssertionNotice) -> dict[str, Json]:
    kind = type(notice).__name__.lower()
    match notice:
        case Contradictory(stream, declarations):
            about: dict[str, Json] = {"stream": stream, "declarations": list(declarations)}
        case Redundant(assertion, by):
            about = {"assertion": assertion, "declarations": list(by)}
        case _:
            about = {"assertion": notice.assertion, "declarations": []}
    return {"kind": kind, **about, "message": str(notice)}
