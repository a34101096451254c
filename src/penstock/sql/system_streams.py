"""What every text can read without declaring it: the stream of the system's own properties, and views of it.

Every entity of a run publishes its properties on `sysstream` (thesis 2.4). Names of system views have two parts,
`sys.state`; in the catalog they are one name with a dot, so that a view of the user's can be called `state`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from penstock import types
from penstock.algebra.relations import Query, streams
from penstock.catalog import Attribute, Definition, StreamDef, ViewDef
from penstock.errors import Source
from penstock.sql.statements import parse_script
from penstock.sql.syntax import CreateView

#: The first part of the names of system views.
SCHEMA = "sys"

SYSSTREAM = StreamDef(
    "sysstream",
    (
        Attribute("ts", types.TIMESTAMP),
        Attribute("query", types.STRING),
        Attribute("entity", types.STRING),
        Attribute("kind", types.STRING),
        Attribute("cell", types.INT),
        Attribute("property", types.STRING),
        Attribute("value", types.DOUBLE),
        Attribute("text", types.STRING),
    ),
    "ts",
)

#: What users ask most. Each looks back a minute, decisions an hour; whoever wants it otherwise copies the text.
VIEWS = """
CREATE VIEW `sys.operators` AS
SELECT query, entity, cell,
       SUM(CASE WHEN property = 'rows_in' THEN value END) AS rows_in,
       SUM(CASE WHEN property = 'rows_out' THEN value END) AS rows_out,
       SUM(CASE WHEN property = 'nanoseconds' THEN value END) / 1000000000 AS seconds,
       SUM(CASE WHEN property = 'function_errors' THEN value END) AS function_errors
FROM sysstream [RANGE 1 MINUTE] WHERE kind IN ('source', 'operator') GROUP BY query, entity, cell;

CREATE VIEW `sys.state` AS
SELECT query, entity, cell,
       MAX(CASE WHEN property = 'state_rows' THEN value END) AS state_rows,
       MAX(CASE WHEN property = 'state_bytes' THEN value END) AS state_bytes,
       MAX(CASE WHEN property = 'bound' THEN value END) AS bound_rows,
       MAX(CASE WHEN property = 'bound' THEN text END) AS bound
FROM sysstream [RANGE 1 MINUTE] WHERE kind = 'synopsis' GROUP BY query, entity, cell;

CREATE VIEW `sys.constraints` AS
SELECT query, entity, cell,
       MAX(CASE WHEN property = 'k' THEN value END) AS k,
       MAX(CASE WHEN property = 'used' THEN value END) AS used,
       MAX(CASE WHEN property = 'violations' THEN value END) AS violations,
       MAX(CASE WHEN property = 'false_negatives' THEN value END) AS false_negatives
FROM sysstream [RANGE 1 MINUTE] WHERE kind = 'monitor' GROUP BY query, entity, cell;

CREATE VIEW `sys.decisions` AS
SELECT ts, query, entity, cell, value AS number, text AS decision
FROM sysstream [RANGE 1 HOUR] WHERE property = 'decision';

CREATE VIEW `sys.lateness` AS
SELECT query, entity,
       MAX(CASE WHEN property = 'lag' THEN value END) AS lag,
       SUM(CASE WHEN property = 'late_rows' THEN value END) AS late_rows,
       SUM(CASE WHEN property = 'bad_rows' THEN value END) AS bad_rows
FROM sysstream [RANGE 1 MINUTE] WHERE kind = 'source' GROUP BY query, entity;
"""


def reads_sysstream(query: Query) -> bool:
    """Returns whether a query reads what runs publish."""
    return any(stream.name == SYSSTREAM.name for stream in streams(query.relation))


def system_definition(name: str) -> Definition | None:
    """Returns what the system declares under a name.

    >>> system_definition("SysStream").timestamp
    'ts'
    >>> sorted(system_definition("sys.state").reads)
    ['sysstream']
    """
    return system_definitions().get(name.lower())


def system_views() -> list[str]:
    """Returns the names of all system views."""
    return [name for name, definition in system_definitions().items() if isinstance(definition, ViewDef)]


@cache
def system_definitions() -> Mapping[str, Definition]:
    """Returns all that the system declares, by names in lower case."""
    found: dict[str, Definition] = {SYSSTREAM.name: SYSSTREAM}
    for statement in parse_script(Source("<system>", VIEWS)).statements:
        assert isinstance(statement, CreateView)
        found[statement.name.text] = ViewDef(statement.name.text, statement.query, frozenset({SYSSTREAM.name}))
    return found
