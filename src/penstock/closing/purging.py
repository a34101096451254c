"""Joins that purge: which inputs forget rows by the closers of a join, and until what each is kept.

`purging_join` is the one derivation. The register reads its retentions as bounds, and `with_purging` puts the join into
the plan. `kernels/purge.py` chains the closers for each row (004, theorem 3). Some need *evidence*: rows that
nothing else reads, such as punctuations, or the times of all rows of a stream where rows are counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from penstock.algebra.expressions import Expr
from penstock.algebra.physical import Scan
from penstock.algebra.relations import (
    AntiJoin,
    Distinct,
    Join,
    Range,
    Relation,
    Rows,
    SemiJoin,
    Unbounded,
    rewrite_relation,
)
from penstock.catalog import Catalog
from penstock.closing.chaining import chain
from penstock.closing.closers import closers_of
from penstock.closing.closers.no_component import leaves_sooner
from penstock.closing.closers.time_range import certain_times
from penstock.closing.join_inputs import JoinInputs, own_equalities
from penstock.closing.join_variables import join_classes
from penstock.closing.retention import Retention, Step
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
    PurgingAntiJoin,
    PurgingJoin,
    PurgingSemiJoin,
    Rule,
    k_of,
)


def with_purging(relation: Relation, catalog: Catalog, spill: bool = False) -> Relation:
    """The physical relation with joins that forget what they can, in place of those that would not.

    With `spill` the joins know which of their rules are probable only.
    """
    return rewrite_relation(relation, lambda node: _forgetting(node, catalog, spill))


def _forgetting(node: Relation, catalog: Catalog, spill: bool) -> Relation:
    join = purging_join(node, catalog, spill)
    if join is None or not join.forgets:
        return node
    match node:
        case SemiJoin():
            return PurgingSemiJoin(join.operands[0], join.operands[1], node.on, join)
        case AntiJoin():
            return PurgingAntiJoin(join.operands[0], join.operands[1], node.on, join)
    return join


def purging_join(node: Relation, catalog: Catalog, spill: bool = False) -> PurgingJoin | None:
    """A physical join with all that lets it forget, also if that is nothing; None if it is not a plain join."""
    if type(node) not in (Join, SemiJoin, AntiJoin):
        return None
    match node:
        case Join():
            return _purging(_with_own_equalities(node), catalog, spill)
        case SemiJoin(left, Distinct(right)) | AntiJoin(left, Distinct(right)):
            return _purging_sides(left, right, node.on, catalog, spill)
    return None


def _purging_sides(
    left: Relation, right: Relation, on: tuple[Expr, ...], catalog: Catalog, spill: bool
) -> PurgingJoin | None:
    """The join of a semi-join's sides, if rows only come; it purges if all rows go in the end.

    It has all rows of the right side: a value that comes again has to be waited with anew.
    """
    if not isinstance(left, Scan) or not isinstance(right, Scan):
        return None
    if not isinstance(left.spec, Unbounded) or not isinstance(right.spec, Unbounded):
        return None
    # A left row that is in no result of the join may show all the same, and no monitor watches here.
    return _purging(Join((left, right), on), catalog, spill, of_sides=True)


def rules_of(join: Join, catalog: Catalog, certain: bool = False) -> tuple[Rule, ...]:
    """All rules of a join, whether it forgets by them or not; or only those that lean on no k."""
    inputs = JoinInputs(join, catalog, spill=certain)
    rules = tuple(rule for rule in closers_of(inputs) if not isinstance(rule, ByDeclaration | ByNo))
    if not certain:
        return rules
    times = certain_times(inputs)
    return tuple(rule for rule in rules if not _is_probable(rule, times))


def _purging(join: Join, catalog: Catalog, spill: bool, of_sides: bool = False) -> PurgingJoin:
    inputs = JoinInputs(join, catalog, spill)
    found = closers_of(inputs)
    if of_sides:
        found = {closer: step for closer, step in found.items() if not isinstance(closer, ByNo) and not _varies(closer)}
    retentions = tuple(_retention(inputs, found, number) for number in range(len(inputs)))
    rules = _ordered(rule for rule in found if not isinstance(rule, ByDeclaration))
    enforced = {number for number, each in enumerate(retentions) if each.enforced}
    if of_sides:
        forgets = {0, 1} if enforced == {0, 1} else set[int]()
        retentions = retentions if forgets else _of_both(*retentions)
    else:
        forgets = {n for n in inputs.scans if _may_forget(inputs, n, rules) or (n in enforced and _is_kept(inputs, n))}
        # No components alone are not worth a purge; where there is one, they help it.
        forgets |= {n for n in inputs.scans if _is_helped(inputs, n, rules)} if forgets else set()
    times = certain_times(inputs) if spill else set()
    probable = tuple(rule for rule in rules if _is_probable(rule, times)) if spill else ()
    monitors = () if of_sides else tuple(inputs.monitors)
    evidence = tuple(inputs.evidence)
    return PurgingJoin(join.operands, join.on, rules, evidence, tuple(sorted(forgets)), monitors, probable, retentions)


def _retention(inputs: JoinInputs, found: dict[Closer, Step], number: int) -> Retention:
    """What is kept of an input: until a chain of what a run sees is done, or if there is none, of what is declared."""
    name = inputs.label(number)
    if number not in inputs.scans or not _is_forgettable(inputs, number):
        return Retention(name)
    seen = [rule for rule in found if not isinstance(rule, ByDeclaration)]
    for closers in (seen, list(found)):
        if (used := chain(inputs.variables, closers, number, len(inputs))) is not None:
            return Retention(name, tuple(found[closer] for closer in used))
    return Retention(name)


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


def _varies(rule: Closer) -> bool:
    return not isinstance(rule, ByDeclaration) and isinstance(k_of(rule), Estimate)


def _is_probable(rule: Rule, certain: set[InTime]) -> bool:
    """Whether a rule leans on a k: that of a constraint, not of a window or of the query itself."""
    return k_of(rule) is not None and rule not in certain


def _with_own_equalities(join: Join) -> Join:
    """The join, whose inputs with several columns of one class hold only rows in which these are equal.

    Others join nothing. So what is declared of any of these columns is true of the class.
    """
    operands = list(join.operands)
    for number, operand in enumerate(operands):
        # A filter commutes with a window of time, not with one of rows.
        if isinstance(operand, Scan) and isinstance(operand.spec, Unbounded | Range):
            equal = tuple(each for same in join_classes(join) for each in own_equalities(operand, same))
            operands[number] = replace(operand, where=operand.where + equal)
    return Join(tuple(operands), join.on)


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
    """Whether rows of an input are told by a No component that they wait in vain."""
    is_told = any(isinstance(rule, ByNo) and inputs.holds(number, rule.variables) for rule in rules)
    return is_told and _is_forgettable(inputs, number)
