"""When a relation's changes end: no more of them have certain values, or times up to some instant.

Punctuation safety (004) asks it of a stored row: may something still come that joins it? A group, a distinct value or
a row of a computed relation is asked the same, as a stream of its own that is equal to them on some columns. So one
theory answers for joins, GROUP BY and DISTINCT, with declared punctuations, watermarks, and what k-constraints close.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Iterator
from copy import copy
from dataclasses import replace

from penstock.algebra.expressions import Expr
from penstock.algebra.relations import Relation
from penstock.catalog import Catalog, Clustered, Constraint, Ordered, Reference, WithinTime
from penstock.closing.asked import ASKED, Asked, AskedBlock
from penstock.closing.blocks import Block, Operand, flat_block
from penstock.closing.endings import Ending
from penstock.closing.monotone_buckets import closable, never_falls
from penstock.closing.punctuation import PunctuatedStream, PurgeDefeat, Scheme, purge_defeat
from penstock.closing.referring import referring_punctuations
from penstock.closing.translation import Translation, ending_of

__all__ = [
    "Ending",
    "Purging",
    "by_punctuations",
    "ending",
    "never_falls",
    "referring_punctuations",
    "solutions",
]


def ending(relation: Relation, keys: Iterable[Expr], catalog: Catalog, at_last: bool = False) -> Ending | None:
    """How the changes that have one combination of values of `keys` end once a row with them was there, if they do.

    With `at_last` each of them ends. A value of a clustered or ordered column need not, while it is the latest.
    """
    plain, buckets = closable(keys)
    return ending_of(relation, Asked(plain, buckets, seen=not at_last), catalog)


def by_punctuations(catalog: Catalog) -> Catalog:
    """What is declared, but for what closes a value after a number of rows: only punctuations and times do here."""
    for stream in catalog.streams:
        rest = tuple(c for c in stream.constraints if not _counts_rows(c))
        catalog = catalog.having(replace(stream, constraints=rest)) if rest != stream.constraints else catalog
    return catalog


def _counts_rows(constraint: Constraint) -> bool:
    if isinstance(constraint, Reference):
        return not isinstance(constraint.within, WithinTime)
    return isinstance(constraint, Clustered | Ordered)


class Purging:
    """How stored rows of a block's operands become useless: theorem 3 of 004 over all that may change beside them."""

    def __init__(self, block: Block, catalog: Catalog) -> None:
        self._translated = Translation(block, catalog)

    def under(self, catalog: Catalog) -> Purging:
        """The same under other declarations: what follows from the predicates alone is not worked out again."""
        other = copy(self)
        other._translated = self._translated.under(catalog)
        return other

    def is_purged(self, operand: Operand) -> bool:
        """Whether there is a purge; this is quicker than to work it out."""
        return self._translated.reaches_all(operand.name)

    def purge(self, operand: Operand) -> Ending | None:
        return self._translated.ending(operand.name)

    def farthest(self, some: Container[str | None]) -> str:
        """The one of some operands, or of all, that is farthest from being purged: it reaches the fewest others."""
        return self._translated.farthest(some)

    def lacking(self, operand: str, richer: Catalog) -> Iterator[frozenset[str]]:
        """Sets of further declarations of each of which an operand's purge needs one, as their proofs name them."""
        return self._translated.lacking(operand, self._translated.under(richer))

    def defeating(self, operand: Operand, size: int) -> PurgeDefeat:
        """Rows of an operand that has no purge: with their partners, and with the rows that may follow each."""
        translated = self._translated
        schemes = [closer.scheme for closer in translated.closers]
        return purge_defeat(translated.question.join_query(), schemes, operand.name, size)


def solutions(relation: Relation, catalog: Catalog, size: int) -> list[dict[str, dict[str, Hashable]]]:
    """So many combinations of a row of each stream below that satisfy what the theory sees of the predicates.

    They differ in all columns that no constant ties down.
    """
    block = flat_block(relation)
    lonely = PunctuatedStream(ASKED, ())
    query = AskedBlock(block).join_query()
    query = replace(query, streams=(*(s for s in query.streams if s.name != ASKED), lonely))
    found = purge_defeat(query, [Scheme(o.name, ()) for o in block.operands[1:]], block.operands[0].name, size)
    partners = len(found.partners) // size if size else 0
    combined = []
    for number, kept in enumerate(found.kept):
        rows = [kept, *found.partners[number * partners : (number + 1) * partners]]
        combined.append({row.stream: dict(row.values) for row in rows})
    return combined
