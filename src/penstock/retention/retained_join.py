"""A join as retention sees it: what was derived of it, its stored inputs, and the memory for what it notes itself."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.closing.join_variables import columns_of
from penstock.closing.physical_join import PhysicalJoin
from penstock.closing.rules import Rule
from penstock.retention.code_owners import HeldColumn, RowCodeOwner
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.indexed_inputs import IndexedInputs
from penstock.synopsis.memory import Scope


@dataclass(frozen=True, slots=True)
class RetainedJoin:
    """What all parts of a join's retention share."""

    node: PhysicalJoin
    inputs: IndexedInputs
    memory: Scope
    dictionary: Dictionary
    #: Whether results are taken back: then rows that are in one are retained.
    retracts: bool = False
    #: Of each monitor in how many cells it sees a row.
    copies: tuple[int, ...] = ()

    @property
    def rules(self) -> tuple[Rule, ...]:
        return self.node.rules

    def capacities(self) -> list[int]:
        return [source.store.capacity for source in self.inputs.inputs]

    def code_owner(self, held_column: HeldColumn, target: int, variables: tuple[int, ...]) -> RowCodeOwner:
        """Owns the codes of values that an input has of variables."""
        return RowCodeOwner(held_column, columns_of(self.node, target, variables))
