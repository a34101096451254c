"""Random joins that the theory of bounded memory bounds, as SQL, and data for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from penstock.algebra.relations import Query as BoundQuery
from penstock.algebra.relations import walk_relations
from penstock.algebra.rewrites import normalise
from penstock.catalog import Catalog
from penstock.closing.physical_join import PhysicalJoin
from penstock.plan.planner import plan
from penstock.register.arithmetic import ComparedAttribute, Comparison, ConjunctiveQuery, Domain, Op
from penstock.register.verdict import check_query
from penstock.sql import bind_text
from tests.generators import Case
from tests.register.arithmetic.queries import SHAPES, random_query

TYPES = {Domain.INTEGER: "BIGINT", Domain.DENSE: "DOUBLE", Domain.OTHER: "STRING"}


@dataclass(frozen=True, slots=True)
class Bounded:
    case: Case
    query: BoundQuery
    catalog: Catalog


def bounded_case(seed: int, rows: int = 40) -> Bounded | None:
    """A query that is safe by the theory alone, if this seed gives one."""
    random = Random(seed)
    shape = SHAPES[random.choice([name for name in SHAPES if name != "one"])]
    query = random_query(random, shape, random.random() < 0.6)
    ddl = "\n".join(_ddl(query))
    case = Case(ddl, _select(random, query), _data(random, query, rows), None, "")
    bound = bind_text(case.script).checked()
    verdict = check_query(bound.queries[0], bound.catalog)
    return Bounded(case, bound.queries[0], bound.catalog) if verdict.safe and not verdict.empty else None


def bounded_cases(first: int, count: int, rows: int = 40) -> Iterator[tuple[int, Bounded]]:
    """So many queries whose plans keep buckets, from a seed on, each with its own."""
    seed = first
    while count:
        found = bounded_case(seed, rows)
        if found is not None and joins(found):
            yield seed, found
            count -= 1
        seed += 1


def joins(found: Bounded, cells: int = 1) -> list[PhysicalJoin]:
    fragments = plan(normalise(found.query), cells, found.catalog).fragments
    nodes = (node for fragment in fragments for node in walk_relations(fragment.root))
    return [node for node in nodes if isinstance(node, PhysicalJoin) and node.buckets]


def _ddl(query: ConjunctiveQuery) -> Iterator[str]:
    for base in dict.fromkeys(stream.base for stream in query.streams):
        occurrence = next(stream.name for stream in query.streams if stream.base == base)
        own = [f"{a.name} {TYPES[a.domain]}" for a in query.attributes if a.stream == occurrence]
        yield f"CREATE STREAM {base} ({', '.join([*own, 'ts BIGINT'])}) TIMESTAMP BY ts;"


def _select(random: Random, query: ConjunctiveQuery) -> str:
    windows = [
        random.choice((" [RANGE 5 MICROSECONDS]", " [ROWS 3]")) if random.random() < 0.1 else "" for _ in query.streams
    ]
    sources = [f"{stream.base}{window} {stream.name}" for stream, window in zip(query.streams, windows, strict=True)]
    if len(sources) == 2 and random.random() < 0.3:
        return _semi_join(random, query, sources)
    where = _where(query.comparisons)
    columns = [f"{attribute} AS c{number}" for number, attribute in enumerate(query.projected)]
    if query.distinct:
        return f"SELECT DISTINCT {', '.join(columns) or '1 AS one'} FROM {', '.join(sources)} {where}"
    if random.random() < 0.3:
        grouped = ", ".join(map(str, query.projected))
        by = f" GROUP BY {grouped}" if grouped else ""
        return f"SELECT {', '.join([*columns, 'COUNT(*) AS n'])} FROM {', '.join(sources)} {where}{by}"
    return f"SELECT {', '.join(columns) or '1 AS one'} FROM {', '.join(sources)} {where}"


def _semi_join(random: Random, query: ConjunctiveQuery, sources: list[str]) -> str:
    """Of the first stream, the rows that have a match, or none."""
    first = query.streams[0].name
    columns = [f"{a} AS c{number}" for number, a in enumerate(query.projected) if a.stream == first]
    own = [comparison for comparison in query.comparisons if comparison.streams == {first}]
    others = [comparison for comparison in query.comparisons if comparison.streams != {first}]
    matched = f"{random.choice(('EXISTS', 'NOT EXISTS'))} (SELECT 1 FROM {sources[1]} {_where(others)})"
    return f"SELECT {', '.join(columns) or '1 AS one'} FROM {sources[0]} {_where(own)} AND {matched}"


def _where(comparisons: Iterable[Comparison]) -> str:
    return "WHERE " + (" AND ".join(map(_condition, comparisons)) or "TRUE")


def _condition(comparison: Comparison) -> str:
    domain = comparison.attributes[0].domain
    left, right = (_side(side, domain) for side in (comparison.left, comparison.right))
    offset = f" + {comparison.offset}" if comparison.offset else ""
    op = "<>" if comparison.op is Op.NE else comparison.op.value
    return f"{left} {op} {right}{offset}"


def _side(side: Any, domain: Domain) -> str:
    if isinstance(side, ComparedAttribute) or domain is Domain.INTEGER:
        return str(side)
    return f"{side}.0" if domain is Domain.DENSE else f"'v{side}'"


def _data(random: Random, query: ConjunctiveQuery, rows: int) -> dict[str, list[tuple[Any, ...]]]:
    data: dict[str, list[tuple[Any, ...]]] = {stream.base: [] for stream in query.streams}
    low, high = random.choice(((-2, 5), (-2, 5), (-30, 30)))
    drift = random.choice((0, 0, 0, 1, -1))
    for ts in range(rows):
        stream = random.choice(query.streams)
        own = [a for a in query.attributes if a.stream == stream.name]
        shift = drift * ts // 2
        values = [_value(random, a.domain, low + shift, high + shift) for a in own]
        data[stream.base].append((*values, ts // 2))
    return data


def _value(random: Random, domain: Domain, low: int, high: int) -> Any:
    if random.random() < 0.03:
        return None
    if domain is Domain.INTEGER:
        return random.choice((-(2**63), 2**63 - 1)) if random.random() < 0.01 else random.randint(low, high)
    if domain is Domain.DENSE:
        return random.choice((random.randint(low, high), random.randint(4 * low, 4 * high) / 4)) / 1
    return f"v{random.randint(0, 4)}"
