"""Self-joins without duplicates that fold: occurrences of a stream that say nothing new are not read at all.

The register folds a query to judge it (`register/arithmetic/folding.py`). By the same homomorphism each occurrence that
is left out becomes the one that stands for it, in all predicates and in what is shown. What then is an answer is one of
the query, for a row may stand in several places. All answers of the query are still there, for what the homomorphism
makes of a predicate follows from the others; unless a sum overflows that the query itself does not reckon.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.algebra.expressions import Column, Comparator, Compare, Expr, IsNull, Not, substitute
from penstock.algebra.relations import Distinct, Join, Output, Project, Relation, Select, rewrite_relation
from penstock.algebra.rewrites import normal_form
from penstock.closing.blocks import Block, Operand, block_of
from penstock.register.arithmetic.folding import Homomorphism, homomorphism
from penstock.register.join_context import JoinContext, constant_synopses
from penstock.register.overflow import KnownEnds


def folded(relation: Relation) -> Relation:
    """The relation in normal form without occurrences that others stand for.

    >>> from penstock.algebra.printing import plan_text
    >>> from penstock.algebra.rewrites import normalise
    >>> from penstock.sql import bind_text
    >>> query = bind_text('''
    ...     CREATE STREAM s (a BIGINT, b BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
    ...     SELECT DISTINCT x.a FROM s x, s y WHERE x.a = y.a AND x.b > 10 AND y.b > 5
    ... ''').queries[0]
    >>> print(plan_text(folded(normalise(query).relation)))
    Distinct
    └─ Project x.a
      └─ Select x.b > 10 AND x.a IS NOT NULL AND x.b > 5
          └─ s [UNBOUNDED] AS x
    """
    rewritten = rewrite_relation(relation, _node)
    return relation if rewritten == relation else normal_form(rewritten)


def _node(node: Relation) -> Relation:
    match node:
        case Distinct(Project(Join() as join, outputs)):
            pass
        case Distinct(Join() as join):
            outputs = tuple(Output(column, column) for column in join.schema)
        case _:
            return node
    above = JoinContext().through(node).through(Project(join, outputs))
    found = homomorphism(constant_synopses(join, above).query)
    if found is None:
        return node
    block = block_of(join)
    stands = _columns(block, found)
    said = tuple(dict.fromkeys(_said(substitute(predicate, stands)) for predicate in block.predicates))
    # The homomorphism sees to it that columns that are compared have values, and sums do if the query compares them.
    compared = {part for predicate in block.predicates for part in predicate.parts}
    ends = KnownEnds(join, block.predicates)
    if not all(part in compared or ends.fits(part) for predicate in said for part in _sides(predicate)):
        return node
    kept = tuple(
        operand.relation for operand in block.operands if found.get(operand.name, operand.name) == operand.name
    )
    joined = Join(kept, ()) if len(kept) > 1 else kept[0]
    shown = tuple(Output(output.column, substitute(output.expr, stands)) for output in outputs)
    return Distinct(Project(Select(joined, said) if said else joined, shown))


def _columns(block: Block, found: Homomorphism) -> Mapping[Column, Expr]:
    """For each column of an occurrence that is left out the same of the one that stands for it."""
    named = {operand.name: operand for operand in block.operands}
    moved = [(named[name], named[by]) for name, by in found.items() if name != by]
    return {old: new for left_out, by in moved for old, new in zip(_schema(left_out), _schema(by), strict=True)}


def _schema(operand: Operand) -> tuple[Column, ...]:
    assert operand.window is not None, "only occurrences of streams fold"
    return operand.window.schema


def _said(predicate: Expr) -> Expr:
    """What a predicate says of a value that it compares with itself: that there is one."""
    match predicate:
        case Compare(Comparator.EQ | Comparator.LE | Comparator.GE, left, right) if left == right:
            return Not(IsNull(left))
    return predicate


def _sides(predicate: Expr) -> tuple[Expr, ...]:
    """What must have a value for a predicate to be true."""
    return (predicate.arg.arg,) if isinstance(predicate, Not) and isinstance(predicate.arg, IsNull) else predicate.parts
