"""Relations: streams, windows that turn them into relations, SQL over relations, and the way back to streams.

CQL's abstract semantics (thesis 2.1): a stream is a bag of timestamped tuples, a relation a bag that varies with time.
Nodes are immutable and check themselves when they are built.

| file           | idea                                                           |
| -------------- | -------------------------------------------------------------- |
| `relation.py`  | what all nodes share and check                                 |
| `streams.py`   | streams, windows and tables                                    |
| `operators.py` | SQL over relations                                             |
| `queries.py`   | a query: a relation, or a stream of one, under a name          |
| `trees.py`     | to walk and to rewrite trees of relations                      |
"""

from penstock.algebra.relations.operators import (
    Aggregate,
    Aggregation,
    AntiJoin,
    Distinct,
    Join,
    Materialised,
    OuterJoin,
    Output,
    Project,
    Repeat,
    Select,
    SemiJoin,
    SetOp,
    SetOperator,
    Shared,
)
from penstock.algebra.relations.queries import ADAPTIVE_MODES, Approximate, Query, StreamKind, ToStream
from penstock.algebra.relations.relation import Relation, Schema
from penstock.algebra.relations.streams import (
    NOW,
    PartitionRows,
    Range,
    Rows,
    Stream,
    Table,
    Unbounded,
    Window,
    WindowSpec,
)
from penstock.algebra.relations.trees import outermost_groups, rewrite_relation, streams, walk_relations

__all__ = [
    "ADAPTIVE_MODES",
    "NOW",
    "Aggregate",
    "Aggregation",
    "AntiJoin",
    "Approximate",
    "Distinct",
    "Join",
    "Materialised",
    "OuterJoin",
    "Output",
    "PartitionRows",
    "Project",
    "Query",
    "Range",
    "Relation",
    "Repeat",
    "Rows",
    "Schema",
    "Select",
    "SemiJoin",
    "SetOp",
    "SetOperator",
    "Shared",
    "Stream",
    "StreamKind",
    "Table",
    "ToStream",
    "Unbounded",
    "Window",
    "WindowSpec",
    "outermost_groups",
    "rewrite_relation",
    "streams",
    "walk_relations",
]
