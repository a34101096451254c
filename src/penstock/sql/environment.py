"""What a query is bound in: the catalog, the names that are taken, and the queries of WITH that it can read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from sqlglot import exp

from penstock.algebra.copies import CopyNames
from penstock.algebra.relations import Relation
from penstock.catalog import Catalog
from penstock.errors import Span
from penstock.sql.diagnostics import Diagnostics, TooLarge, tree_span
from penstock.sql.refused import PER_GROUPING
from penstock.sql.scope import UniqueNames
from penstock.sql.syntax import Tree

#: Views that read views twice grow with the power of two.
MOST_OCCURRENCES = 500


@dataclass(frozen=True, slots=True)
class CommonTable:
    """A query of WITH, its columns' names if they are given, and the queries before it, which it may read."""

    query: Tree
    columns: tuple[str, ...]
    before: Mapping[str, CommonTable]


@dataclass(frozen=True, slots=True)
class Environment:
    catalog: Catalog
    diagnostics: Diagnostics
    names: UniqueNames = field(default_factory=UniqueNames)
    #: Names of what is read in several cases.
    copies: CopyNames = field(default_factory=CopyNames)
    common: Mapping[str, CommonTable] = field(default_factory=dict)
    #: Names whose declarations failed, in lower case.
    broken: frozenset[str] = frozenset()
    #: The names of the queries so far, in lower case.
    queries: frozenset[str] = frozenset()
    #: The names of what was read, in lower case: filled while a query is bound.
    reads: set[str] = field(default_factory=set)
    #: Where the occurrences, groupings and subqueries of a query stand in its text, by their scope: filled likewise.
    places: dict[str, Span] = field(default_factory=dict)
    #: Those of them that stand in the query's own text, not in that of a view.
    own_places: set[str] = field(default_factory=set)
    #: Whether the result has insertions only, so that an outer join has to wait for partners.
    insert_only: bool = False
    #: The place of the view that is being bound: what stands inside it is in another statement.
    inside: Span | None = None

    def occurrence(self, wanted: str) -> str:
        """A name for one more occurrence of a stream or table."""
        self.count_occurrence()
        return self.names.fresh(wanted)

    def count_occurrence(self) -> None:
        """Refuses a query that reads too much."""
        self.refuse_beyond(self.names.count_occurrence())

    def refuse_beyond(self, occurrences: int) -> None:
        """Refuses a query that reads so many streams and tables at least, if they are too many."""
        if occurrences > MOST_OCCURRENCES:
            hint = "views and queries of WITH are read anew wherever they stand"
            message = f"this query reads more than {MOST_OCCURRENCES} streams and tables"
            raise TooLarge(self.diagnostics.error(message, hint, None))

    def note_place(self, scope: str, tree: Tree | None) -> None:
        """Remembers where the columns of a scope come from, for messages about them."""
        span = self.inside or (tree_span(tree) if tree is not None else None)
        self.places[scope] = span or self.diagnostics.whole
        if self.inside is None and tree is not None:
            self.own_places.add(scope)

    def fail(self, message: str, hint: str | None, place: Tree | None) -> NoReturn:
        self.diagnostics.fail(message, hint, place)


@dataclass(frozen=True, slots=True)
class BoundRelation:
    """A relation and the names under which the user sees its columns, which may repeat."""

    relation: Relation
    names: tuple[str, ...]


def refuse_others(tree: Tree, known: set[str], env: Environment) -> None:
    """Refuses by name what a tree has beyond the parts that we know."""
    for key, value in tree.args.items():
        if key not in known and value not in (None, False, []):
            what, hint = _REFUSED_PARTS.get(key, (key.strip("_").upper().replace("_", " "), None))
            place = value[0] if isinstance(value, list) else value
            env.fail(f"{what} is not supported", hint, place if isinstance(place, exp.Expr) else tree)


_UNORDERED = "a relation has no order; sort the output where it is read"

_REFUSED_PARTS: dict[str, tuple[str, str | None]] = {
    "all": ("GROUP BY ALL", "list the columns"),
    "by_name": ("BY NAME", "list the columns in one order"),
    "catalog": ("a catalog's name", "names have one part here"),
    "cluster": ("CLUSTER BY", _UNORDERED),
    "connect": ("CONNECT BY", None),
    "cube": ("CUBE", PER_GROUPING),
    "db": ("a database's name", "names have one part here"),
    "distribute": ("DISTRIBUTE BY", None),
    "group": ("GROUP BY behind a query in parentheses", "put it inside"),
    "grouping_sets": ("GROUPING SETS", PER_GROUPING),
    "having": ("HAVING behind a query in parentheses", "put it inside"),
    "into": ("SELECT INTO", "write CREATE QUERY name AS SELECT"),
    "joins": (
        "a join in parentheses",
        "leave the parentheses out if it is an inner join; else write (SELECT ... FROM a LEFT JOIN b ...) AS q",
    ),
    "kind": ("SELECT AS STRUCT or VALUE", None),
    "laterals": ("LATERAL", None),
    "limit": ("LIMIT", "a window such as [ROWS 10] keeps the latest rows of a stream"),
    "method": ("NATURAL JOIN", "write JOIN ... USING (columns)"),
    "offset": ("OFFSET", None),
    "order": ("ORDER BY", _UNORDERED),
    "pivots": ("PIVOT", None),
    "qualify": ("QUALIFY", "filter in a query around this one"),
    "rollup": ("ROLLUP", PER_GROUPING),
    "sample": ("TABLESAMPLE", None),
    "sort": ("SORT BY", _UNORDERED),
    "version": ("time travel", None),
    "when": ("time travel", None),
    "where": ("WHERE behind a query in parentheses", "put it inside"),
    "windows": ("WINDOW", "a stream's window stands behind its name: s [RANGE 1 HOUR]"),
}
