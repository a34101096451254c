"""Joins that purge: which inputs forget rows by the closers of a join, and until what each is kept.

`join_retention` is the one derivation. The register reads its retentions as bounds, and `with_purging` puts them into
the plan. `kernels/purge.py` chains the closers for each row (004, theorem 3). Some need *evidence*: rows that
nothing else reads, such as punctuations, or the times of all rows of a stream where rows are counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from penstock.algebra.physical import Scan
from penstock.algebra.relations import Distinct, Range, Relation, Rows, Unbounded, rewrite_relation
from penstock.catalog import Catalog
from penstock.closing.chaining import chain
from penstock.closing.closers import closers_of
from penstock.closing.closers.no_component import leaves_sooner
from penstock.closing.closers.time_range import certain_times
from penstock.closing.join_inputs import Found, JoinInputs, own_equalities
from penstock.closing.join_variables import join_classes
from penstock.closing.monitors import Monitor
from penstock.closing.physical_join import JoinKind, PhysicalJoin
from penstock.closing.punctuations_kept import piling_up
from penstock.closing.retention import Retention, RetentionStep
from penstock.closing.rules import (
    AfterRows,
    ByCluster,
    ByDeclaration,
    ByKey,
    ByLifespan,
    ByNo,
    ByOrder,
    ByPunctuation,
    Closer,
    Estimate,
    InTime,
    JoinRetention,
    Rule,
    k_of,
)


def with_purging(relation: Relation, catalog: Catalog, spill: bool = False) -> Relation:
    """The physical relation with joins that forget what they can, in place of those that would not.

    With `spill` the joins know which of their rules are probable only.
    """
    return rewrite_relation(relation, lambda node: _purging(node, catalog, spill))


def _purging(node: Relation, catalog: Catalog, spill: bool) -> Relation:
    if not isinstance(node, PhysicalJoin) or (found := join_retention(node, catalog, spill)) is None:
        return node
    join, retention = found
    return replace(join, retention=retention) if retention.forgets else node


def join_retention(
    node: PhysicalJoin, catalog: Catalog, spill: bool = False
) -> tuple[PhysicalJoin, JoinRetention] | None:
    """How long a join keeps the rows of its inputs, and its form that does; None if no closer speaks of such a join."""
    match node:
        case PhysicalJoin(buckets=(_, *_)) | PhysicalJoin(stateless=int()):
            return None  # it keeps little as it is
        case PhysicalJoin(JoinKind.JOIN):
            plain = _with_own_equalities(node)
            return plain, _of_join(plain, catalog, spill)
        case PhysicalJoin(_, (Scan(spec=Unbounded()) as left, Distinct(Scan(spec=Unbounded()) as right))):
            plain = replace(node, operands=(left, right))
            return plain, _of_sides(plain, catalog, spill)
    return None


def _of_join(join: PhysicalJoin, catalog: Catalog, spill: bool) -> JoinRetention:
    inputs = JoinInputs(join, catalog, spill)
    found = closers_of(inputs)
    rules = _ordered(rule for rule in found if not isinstance(rule, ByDeclaration))
    kept = {n for n in inputs.scans if _is_kept(inputs, n)}
    retentions = _retentions(inputs, found, _forgetting(inputs, rules, kept))
    enforced = {number for number, each in enumerate(retentions) if each.enforced}
    return _made(inputs, rules, found, _forgetting(inputs, rules, kept & enforced), tuple(inputs.monitors), retentions)


def _forgetting(inputs: JoinInputs, rules: tuple[Rule, ...], whole: set[int]) -> set[int]:
    """The inputs that drop rows: those of which each goes in the end, and those of which some do."""
    forgets = whole | {n for n in inputs.scans if _may_forget(inputs, n, rules)}
    # No components alone are not worth a purge; where there is one, they help it.
    return forgets | {n for n in inputs.scans if _is_helped(inputs, n, rules)} if forgets else forgets


def _of_sides(join: PhysicalJoin, catalog: Catalog, spill: bool) -> JoinRetention:
    """The retention of a semi-join of rows that are only inserted; it drops rows if all are dropped in the end.

    It is that of the join of both sides: a right value that arrives again has to be awaited anew. A left row that is in
    no result of the join may show all the same, and no monitor observes a semi-join.
    """
    inputs = JoinInputs(join, catalog, spill)
    found = {closer: step for closer, step in closers_of(inputs).items() if not _is_of_joins_only(closer)}
    left, right = _retentions(inputs, found, {0, 1})
    rules = _ordered(rule for rule in found if not isinstance(rule, ByDeclaration))
    forgets = {0, 1} if left.enforced and right.enforced else set[int]()
    return _made(inputs, rules, found, forgets, (), (left, right) if forgets else _of_both(left, right))


def _made(
    inputs: JoinInputs,
    rules: tuple[Rule, ...],
    found: Found,
    forgets: set[int],
    monitors: tuple[Monitor, ...],
    retentions: tuple[Retention, ...],
) -> JoinRetention:
    times = certain_times(inputs) if forgets else set()
    probable = tuple(rule for rule in rules if _is_probable(rule, times)) if inputs.spill else ()
    ordered = tuple(sorted(times, key=lambda time: (time.target, time.source)))
    until = tuple(found[rule].until for rule in rules)
    evidence, forgotten = tuple(inputs.evidence), tuple(sorted(forgets))
    return JoinRetention(rules, evidence, forgotten, monitors, probable, retentions, ordered, until)


def _retentions(inputs: JoinInputs, found: Found, forgets: set[int]) -> tuple[Retention, ...]:
    """What is kept of each input: until a chain of what a run sees is done, or if there is none, of what is declared.

    Punctuations that a run would keep without end, where it drops rows of these inputs, are no part of a chain.
    """
    every = list(found)
    seen: list[Closer] = [closer for closer in every if not isinstance(closer, ByDeclaration)]
    options: list[list[Closer]] = [seen] if len(seen) == len(every) else [seen, every]
    piling = [_all_piling_up(inputs, known, forgets) for known in options]
    lasting = [[c for c in known if c not in piles] for known, piles in zip(options, piling, strict=True)]
    return tuple(_retention(inputs, found, lasting, piling[-1], number) for number in range(len(inputs)))


def _all_piling_up(inputs: JoinInputs, known: Sequence[Closer], forgets: set[int]) -> Mapping[Closer, str]:
    """The closers whose punctuations pile up; without them others may, which rows had done without thanks to them."""
    found = dict[Closer, str]()
    while more := piling_up(inputs, [closer for closer in known if closer not in found], forgets):
        found |= more
    return found


def _retention(
    inputs: JoinInputs, found: Found, lasting: list[list[Closer]], piling: Mapping[Closer, str], number: int
) -> Retention:
    name = inputs.label(number)
    if number not in inputs.scans or not _is_forgettable(inputs, number):
        return Retention(name)
    for closers in lasting:
        if (used := chain(inputs.variables, closers, number, len(inputs))) is not None:
            steps = tuple(found[closer] for closer in used)
            # Where each step is seen, what lets the punctuations go that they read is not.
            is_seen = closers is lasting[0] or not all(step.is_seen for step in steps)
            return Retention(name, steps if is_seen else steps + _unseen(found))
    used = chain(inputs.variables, list(found), number, len(inputs)) or ()
    return Retention(name, piles_up=next((piling[closer] for closer in used if closer in piling), None))


def _unseen(found: Found) -> tuple[RetentionStep, ...]:
    return tuple(step for closer, step in found.items() if isinstance(closer, ByDeclaration))


def _of_both(left: Retention, right: Retention) -> tuple[Retention, Retention]:
    """The sides of a semi-join, which forgets nothing unless both sides do: so each needs the other's chain, too."""
    if left.chain is None or right.chain is None:
        return replace(left, chain=None), replace(right, chain=None)
    return replace(left, chain=left.chain + right.chain), replace(right, chain=right.chain + left.chain)


def _ordered(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """First those of inputs with keys, which at most one row of joins; and of each those that search for nothing."""
    rules = tuple(rules)
    keyed = {rule.target for rule in rules if isinstance(rule, ByKey)}
    searching = ByPunctuation | ByLifespan | ByKey | ByNo | ByCluster
    return tuple(sorted(rules, key=lambda rule: (rule.target not in keyed, isinstance(rule, searching))))


def _is_of_joins_only(closer: Closer) -> bool:
    """Whether a semi-join cannot go by a closer: it needs a row to be in a result, or a monitor."""
    return isinstance(closer, ByNo) or (not isinstance(closer, ByDeclaration) and isinstance(k_of(closer), Estimate))


def _is_probable(rule: Rule, certain: set[InTime]) -> bool:
    """Whether a rule leans on a k: that of a constraint, not of a window or of the query itself."""
    return k_of(rule) is not None and rule not in certain


def _with_own_equalities(join: PhysicalJoin) -> PhysicalJoin:
    """The join, whose inputs with several columns of one class hold only rows in which these are equal.

    Others join nothing. So what is declared of any of these columns is true of the class.
    """
    operands = list(join.operands)
    for number, operand in enumerate(operands):
        if isinstance(operand, Scan):
            equal = tuple(each for same in join_classes(join) for each in own_equalities(operand, same))
            operands[number] = replace(operand, where=operand.where + equal)
    return replace(join, operands=tuple(operands))


def _is_forgettable(inputs: JoinInputs, number: int) -> bool:
    """Whether rows of an input may go before they leave its window.

    What is spilled and comes back has to find its place in the window, which only times say.
    """
    match inputs.join.operands[number]:
        case Scan(spec=Unbounded() | Range(slide=None)):
            return True
        case Scan(spec=Range() | Rows()):
            return not inputs.spill
    return False


def _is_kept(inputs: JoinInputs, number: int) -> bool:
    """Whether rows of an input would be kept without end."""
    return isinstance(inputs.scans[number].spec, Unbounded)


def _may_forget(inputs: JoinInputs, number: int, rules: tuple[Rule, ...]) -> bool:
    """Whether some rule helps a row of an input that its own window does not make go as soon."""
    if not _is_forgettable(inputs, number):
        return False
    own, spec = inputs.own(number), inputs.scans[number].spec
    for rule in rules:
        match rule:
            case InTime(_, source, reach):
                if source == number and not leaves_sooner(inputs, number, reach):
                    return True
            case AfterRows(_, source):
                if source == number:
                    return True
            case ByPunctuation() | ByKey() | ByCluster() | ByOrder():
                # A key lets those rows go that are in a result, which where windows end have to stay.
                is_of_use = isinstance(spec, Unbounded) or not isinstance(rule, ByKey)
                if is_of_use and rule.target != number and own.issuperset(rule.variables):
                    return True
            case ByLifespan(target, variables):
                is_of_use = isinstance(spec, Range) and spec.slide is None
                if is_of_use and target != number and own.issuperset(variables):
                    return True
    return False


def _is_helped(inputs: JoinInputs, number: int, rules: tuple[Rule, ...]) -> bool:
    """Whether a No component ends the wait of rows of an input."""
    is_ended = any(isinstance(rule, ByNo) and inputs.holds(number, rule.variables) for rule in rules)
    return is_ended and _is_forgettable(inputs, number)
