"""Row endings: a join whose inputs are computed keeps a row until nothing changes any more that concerns it.

Of groups, semi-joins or anti-joins below a join no rule of `rules.py` speaks. What closes the streams below them for
the values of a row (`closed_values.py`) does: a row goes when all are closed, those below the other inputs, whose rows
might match it, and those below its own that might take it back.

    a ▷ b ──▶ row (k, ts) ──▶ ▷ c on k        goes when b and c are closed for k; a only adds rows
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.algebra.expressions import Column
from penstock.algebra.physical import Keep, Scan
from penstock.algebra.relations import (
    Aggregate,
    AntiJoin,
    Distinct,
    Join,
    Project,
    Range,
    Relation,
    Rows,
    Select,
    SemiJoin,
    SetOp,
    Unbounded,
    Window,
    rewrite_relation,
    walk_relations,
)
from penstock.catalog import Catalog, StreamDef
from penstock.closing.bounds import BoundKind
from penstock.closing.closed_values import closed_rows, forgettable
from penstock.closing.group_closers import (
    AfterOrder,
    AfterPunctuation,
    AfterReference,
    ByRows,
    Closers,
    GroupEnding,
    GroupInTime,
    NeverNull,
)
from penstock.closing.group_retention import lasting_nulls
from penstock.closing.groups import ending_partitions
from penstock.closing.join_variables import is_monotone, is_table
from penstock.closing.joint_keys import Declared, until_they_entered, until_they_left
from penstock.closing.joint_rows import JointRows
from penstock.closing.physical_join import JoinKind, PhysicalJoin
from penstock.closing.retention import RetentionStep
from penstock.closing.scheme_closers import watermark_text
from penstock.types import duration_text


def with_row_endings(relation: Relation, declared: Declared) -> Relation:
    """The physical relation, whose joins with computed inputs drop rows that have ended."""

    def rule(node: Relation) -> Relation:
        if not isinstance(node, PhysicalJoin):
            return node
        return _over_partitions(node, declared) or _ending(node, declared)

    return rewrite_relation(relation, rule)


def _ending(join: PhysicalJoin, declared: Declared) -> PhysicalJoin:
    """The join that drops rows that have ended, where some do."""
    if not (endings := _row_endings(join, declared)):
        return join
    operands = tuple(
        operand if closers is None else _kept(join, number)
        for number, (operand, closers) in enumerate(zip(join.operands, endings, strict=True))
    )
    return replace(join, operands=operands, retention=None, endings=endings)


def _over_partitions(join: PhysicalJoin, declared: Declared) -> PhysicalJoin | None:
    """The join of partitioned windows whose partitions end; None if it has none, or would keep rows of some input.

    The window forgets a partition when its own stream is closed for it. The join has the rows by itself, and drops
    them when the others are closed as well.
    """
    operands = tuple(ending_partitions(operand, declared) for operand in join.operands)
    if operands == join.operands:
        return None
    found = _ending(replace(join, operands=operands, retention=None), declared)
    stays = (closers is None and not _goes(each) for each, closers in zip(operands, found.endings, strict=False))
    return None if not found.endings or any(stays) else found


def _kept(join: PhysicalJoin, number: int) -> Relation:
    """What a join keeps of an input that ends.

    Of the right side of a semi-join it keeps all rows of a stream: how often a value is there does not matter, and
    none has to be kept for each value indefinitely. The result of a join depends on it.
    """
    operand = join.operands[number]
    is_matched = join.kind is not JoinKind.JOIN and number == 1
    return (
        operand.input if is_matched and isinstance(operand, Distinct) and isinstance(operand.input, Scan) else operand
    )


def row_endings(join: PhysicalJoin, declared: Declared) -> tuple[Closers | None, ...]:
    """Of each input what closes its rows, if anything closes all; nothing, if nothing closes those of any input."""
    over = _over_partitions(join, declared)
    return _row_endings(join, declared) if over is None else over.endings


def _row_endings(join: PhysicalJoin, declared: Declared) -> tuple[Closers | None, ...]:
    if join.buckets or join.stateless is not None or not _is_asked(join):
        return ()
    found = tuple(_closers(join, number, declared) for number in range(len(join.operands)))
    return found if any(found) else ()


def _is_asked(join: PhysicalJoin) -> bool:
    """Whether no closers of `rules.py` do: an input is computed, or it is a semi-join that keeps all rows."""
    is_computed = any(not isinstance(operand, Scan) and not is_table(operand) for operand in join.operands)
    return is_computed if join.kind is JoinKind.JOIN else join.retention is None


def _closers(join: PhysicalJoin, number: int, declared: Declared) -> Closers | None:
    """What closes rows of an input, unless they leave by themselves. Rows with NULL have to end as well."""
    operand = join.operands[number]
    if _goes(operand) or (isinstance(operand, Scan) and not isinstance(operand.spec, Unbounded)):
        return None
    rows = JointRows()
    inside = rows.add_inputs(join, number)
    if isinstance(operand, Distinct) and _kept(join, number) is operand:
        rows.keep_values()
    # A right row that stays says nothing when left rows leave: these just go.
    matches = number == 1 and join.kind is not JoinKind.JOIN and is_monotone(operand) and _only_grows(join.operands[0])
    stays = until_they_entered if matches else until_they_left
    closers = forgettable(closed_rows(rows, tuple(inside.get(c) for c in operand.schema), declared, stays))
    return None if closers is None or not closers.streams or lasting_nulls(closers) else closers


def awaiting_null(operand: Relation, closers: Closers) -> Iterator[tuple[str, ...]]:
    """Columns such that rows of an input in which they are NULL stay until a punctuation with NULL arrives.

    There is one group in which all keys are NULL.
    """
    made = operand
    while isinstance(made, Select | Project | Keep | GroupEnding):
        made = made.input
    keys = {key.column for key in made.keys} if isinstance(made, Aggregate) else None
    for places in lasting_nulls(closers, punctuated=False):
        nulls = [operand.schema[place] for place in sorted(places)]
        if keys is None or not keys <= set(nulls):
            yield tuple(map(str, nulls))


def _goes(operand: Relation) -> bool:
    """Whether rows of an input are few, or leave it by themselves."""
    return is_table(operand) or leaves(operand)


def _only_grows(relation: Relation) -> bool:
    """Whether rows are inserted only when rows of streams are, and not because some left."""
    match relation:
        case Aggregate() | SetOp() | PhysicalJoin(JoinKind.ANTI):
            return False
    return all(map(_only_grows, relation.inputs))


def leaves(relation: Relation) -> bool:
    """Whether all rows of a relation, be it physical or not, leave it some time after they came, by windows alone."""
    match relation:
        case Scan(spec=spec) | Window(spec=spec):
            return isinstance(spec, Range | Rows)
        case Join(operands) | PhysicalJoin(JoinKind.JOIN, operands):
            return any(map(leaves, operands))
        case SemiJoin(left) | AntiJoin(left) | PhysicalJoin(operands=(left, _)):
            return leaves(left)
        case GroupEnding(below):
            return leaves(below)
    return bool(relation.inputs) and all(map(leaves, relation.inputs))


def ending_steps(join: PhysicalJoin, closers: Closers, catalog: Catalog) -> tuple[RetentionStep, ...]:
    """What closes rows, in words: of each stream the first of its closers; what closes several streams once."""
    return tuple(dict.fromkeys(_ending_steps(join, closers, catalog)))


def _ending_steps(join: PhysicalJoin, closers: Closers, catalog: Catalog) -> Iterator[RetentionStep]:
    scans = {node.stream.occurrence: node for node in walk_relations(join) if isinstance(node, Scan)}
    streams = (*closers.streams, *closers.adding)
    for closer in (next((each for each in own if not isinstance(each, NeverNull)), None) for own in streams):
        match closer:
            case AfterReference(then=then, reach=reach):
                stream = closers.evidence[then.ticks].stream.name
                until = f"{then.k} ROWS of {stream}" + (f" and {duration_text(reach)}" if reach else "")
                yield RetentionStep(stream, until, BoundKind.K, (then.declaration,), is_guarded=True)
            case AfterOrder(evidence=number, scheme=scheme):
                stream = closers.evidence[number].stream.name
                yield RetentionStep(stream, f"{stream} has passed its value", BoundKind.K, (scheme,), is_certain=False)
            case GroupInTime(timestamp=Column(scope), reach=reach):
                definition = catalog.get(scans[scope].stream.name)
                assert isinstance(definition, StreamDef)
                until = f"{scope} is {duration_text(reach)} later" if reach else f"{scope} has passed its time"
                yield RetentionStep(scope, until, BoundKind.WINDOW, (watermark_text(definition),))
            case AfterPunctuation(evidence=number, scheme=scheme, cluster=ByRows()):
                stream = closers.evidence[number].stream.name
                yield RetentionStep(stream, f"its cluster of {stream} ends", BoundKind.K, (scheme,), is_guarded=True)
            case AfterPunctuation(evidence=number, scheme=scheme, reach=reach, then=then):
                stream = closers.evidence[number].stream.name
                until = f"a punctuation of {stream}" + (f" and {duration_text(reach)}" if reach else "")
                if then is not None:
                    until += f" and {then.k} ROWS of {closers.evidence[then.ticks].stream.name}"
                leans_on = (scheme,) if then is None else (scheme, then.declaration)
                yield RetentionStep(stream, until, BoundKind.OPEN, leans_on)
