"""The passes that make the physical plan of a relation in normal form, before it is cut into fragments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from penstock.algebra.bucket_counts import CertifiedGroups, FallBack
from penstock.algebra.physical import physical
from penstock.algebra.relations import (
    Project,
    Relation,
)
from penstock.catalog import Catalog
from penstock.closing.groups import emitting, with_endings
from penstock.closing.joint_keys import Declared
from penstock.closing.narrowing import narrowed
from penstock.closing.purging import with_purging
from penstock.closing.row_endings import with_row_endings
from penstock.closing.row_times import with_row_times
from penstock.elimination.counting import counts_of
from penstock.plan.panes import in_panes
from penstock.plan.path_counting import with_path_counting
from penstock.plan.pipelined_filters import with_pipelined_filters
from penstock.plan.stateless_input import with_stateless_inputs
from penstock.register.bucket_joins import with_constant_synopses
from penstock.register.folding import folded


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a plan is made for: declarations, a number of cells, whether rows spill, whether groups show on close."""

    catalog: Catalog
    cells: int = 1
    spill: bool = False
    emits: bool = False

    @property
    def declared(self) -> Declared:
        """What groups may end by. Where rows spill, by no k, unless what is declared says when groups show."""
        return Declared(self.catalog, certain=self.spill and not self.emits, emits=self.emits)


#: What becomes of a relation in normal form, in this order.
PASSES: tuple[Callable[[Relation, Wanted], Relation], ...] = (
    # Set operations read no rows that the other side cannot have.
    lambda relation, _: narrowed(relation),
    # Occurrences of a stream that say nothing new are left out.
    lambda relation, _: folded(relation),
    # Groups whose row is named by their keys read its time.
    lambda relation, wanted: with_row_times(relation, wanted.declared),
    # Scans filter and compute early, and joins keep buckets where these bound them.
    lambda relation, wanted: with_constant_synopses(relation, wanted.catalog),
    # Joins with tables keep nothing of the other input.
    lambda relation, _: with_stateless_inputs(relation),
    # Joins get their retentions.
    lambda relation, wanted: with_purging(relation, wanted.catalog, wanted.spill),
    # Groups, distinct values and rows of set operations end.
    lambda relation, wanted: with_endings(relation, wanted.declared),
    # So do rows that joins keep of inputs that are computed.
    lambda relation, wanted: with_row_endings(relation, wanted.declared),
    # The outermost groups show when they close.
    lambda relation, wanted: emitting(relation) if wanted.emits else relation,
    # Windows that slide keep a partial aggregate per pane.
    lambda relation, _: in_panes(relation),
    # Aggregates above a join are counted along its probe paths, where no combination has to be listed.
    lambda relation, _: with_path_counting(relation),
    # Semi-joins whose rows are judged once are filters.
    lambda relation, _: with_pipelined_filters(relation),
)


def physical_plan(relation: Relation, wanted: Wanted) -> Relation:
    """The relation as it runs, before it is cut into fragments."""
    if isinstance(relation, Project) and isinstance(relation.input, FallBack):
        below = relation.input
        exact = physical_plan(below.exact, replace(wanted, emits=False))
        return relation.with_inputs((below.with_inputs((physical(below.counts), exact)),))
    if isinstance(relation, Project) and isinstance(relation.input, CertifiedGroups):
        certified = relation.input
        groups = physical_plan(certified.groups, replace(wanted, emits=False))
        return relation.with_inputs((certified.with_inputs((groups, physical(certified.counts))),))
    if counts_of(relation) is not None:
        return physical(relation)
    for each in PASSES:
        relation = each(relation, wanted)
    return relation
