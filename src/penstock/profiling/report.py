"""A profile as JSON."""

from __future__ import annotations

from penstock.algebra.printing import Json
from penstock.catalog import Clustered, Ordered, Reference
from penstock.closing.declarations import constraint_text
from penstock.profiling.findings import SHARES, Finding, Ks, Profile, StreamProfile
from penstock.profiling.telling import declared, holding, nearly_holding


def profile_json(profile: Profile) -> dict[str, Json]:
    return {"most_rows": profile.most, "streams": [_stream(stream, profile) for stream in profile.streams]}


def _stream(stream: StreamProfile, profile: Profile) -> dict[str, Json]:
    definition = stream.definition
    lateness = stream.lateness
    return {
        "name": definition.name,
        "columns": [{"name": a.name, "type": str(a.type)} for a in definition.attributes if not a.virtual],
        "timestamp": definition.timestamp,
        "unit": None if definition.written_unit is None else definition.written_unit.name,
        "rows": stream.rows,
        "bad_rows": stream.bad_rows,
        "late_rows": stream.late_rows,
        "first": stream.first if stream.rows else None,
        "last": stream.last if stream.rows else None,
        "delay": {"exact": stream.delay} if lateness is None else _ks(lateness),
        "holds": [constraint_text(holds.constraint) for holds in holding(stream, profile)],
        "nearly": [
            {"constraint": constraint_text(nearly.constraint), "share": nearly.share}
            for nearly in nearly_holding(stream, profile)
        ],
        "declared": [
            {"constraint": constraint_text(constraint), "holds": adheres}
            for constraint, adheres in declared(stream, profile)
        ],
        "keys": [{"columns": list(key.columns), "repeated_rows": key.repeated} for key in stream.keys],
        "findings": [_finding(finding) for finding in stream.findings],
        "unknown": [list(names) for names in stream.unknown],
    }


def _finding(finding: Finding) -> dict[str, Json]:
    ks: dict[str, Json] = {"rows": _ks(finding.rows), "microseconds": _ks(finding.time)}
    match finding.constraint:
        case Ordered(column):
            return {"kind": "ordered", "columns": [column], **ks}
        case Clustered(columns):
            return {"kind": "clustered", "columns": list(columns), **ks}
        case Reference(columns, parent, parent_columns):
            return {
                "kind": "reference",
                "columns": list(columns),
                "parent": parent,
                "parent_columns": list(parent_columns),
                "values": finding.values,
                "values_found": finding.found,
                **ks,
            }


def _ks(ks: Ks) -> dict[str, Json]:
    """For all rows; for 99.9% of them, "p99.9"; and so on."""
    return {"exact": ks.exact, **{f"p{s.rstrip('%')}": k for s, k in zip(SHARES, ks.shares, strict=True)}}
