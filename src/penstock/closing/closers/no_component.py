"""No components: the row with the values of a key came and can be in no result, so that none waits for it (thesis 6.3).

That is so where a filter keeps rows out, or where a row waits in vain for one that it refers to itself.
"""

from __future__ import annotations

from penstock.algebra.relations import Range, Rows, Unbounded
from penstock.closing.bounds import BoundKind
from penstock.closing.chaining import Granted, chain
from penstock.closing.closers.key import key_columns
from penstock.closing.evidence import refused_by
from penstock.closing.finite import count, tightened
from penstock.closing.join_inputs import Closers, Found, JoinInputs
from penstock.closing.rules import AfterRows, ByCluster, ByKey, ByNo, ByOrder, Closer, InTime, K
from penstock.effort import spend


def no_components(inputs: JoinInputs, found: Found) -> Closers:
    rules = tuple(found)
    keys = [rule for rule in rules if isinstance(rule, ByKey)]
    for key in keys:
        own = inputs.own(key.target)
        refers = any(other.target != key.target and own.issuperset(other.variables) for other in keys)
        names = key_columns(inputs, key)
        refused = refused_by(inputs.scans[key.target], inputs.definition(key.target), names)
        if refused is not None or refers:
            evidence = None if refused is None else inputs.read(refused, key.variables)
            awaited = _awaited(inputs, key, rules)
            late = () if awaited else _late(inputs, key, rules)
            until = f"the row ({', '.join(names)}) of {inputs.label(key.target)}"
            step = inputs.step(key.target, until, BoundKind.NONE, *found[key].leans_on)
            yield ByNo(key.target, key.variables, evidence, awaited, late), step


def _awaited(inputs: JoinInputs, key: ByKey, rules: tuple[Closer, ...]) -> tuple[int, ...]:
    """The inputs whose rows may wait for a key, where no other rule ends their wait.

    Each has to stop asking in the end, or keys would grow where rows do not. A window of rows that is not spilled says
    when the row of a key has left it, and none need ask for it any more.
    """
    held = {n for n in range(len(inputs)) if inputs.holds(n, key.variables)} - {key.target}
    spend(len(held) * len(rules))
    waiting = tuple(n for n in sorted(held) if not any(_ends_wait(inputs, rule, key.target, n) for rule in rules))
    stays = chain(inputs.variables, rules, key.target, len(inputs), Granted.PARTNERS) is None
    grows = _is_endless(inputs, key) and stays
    leaves = isinstance(inputs.scans[key.target].spec, Rows) and not inputs.spill
    stops = leaves or all(any(_stops(rule, n, key) for rule in rules) for n in waiting)
    return waiting if grows or stops else ()


def _is_endless(inputs: JoinInputs, key: ByKey) -> bool:
    """Whether rows of a key's input arrive without end: no window ends them, nor a filter on finitely many keys."""
    scan = inputs.scans[key.target]
    named = {column.name.lower(): column for column in scan.stream.schema}
    kept = tightened({}, scan.where)
    own = (named[name.lower()] for name in key_columns(inputs, key))
    return isinstance(scan.spec, Unbounded) and any(count(column, kept) is None for column in own)


def _late(inputs: JoinInputs, key: ByKey, rules: tuple[Closer, ...]) -> tuple[AfterRows, ...]:
    """RIDS of those that may ask for a key, if all have it, and CA that says when they stop."""
    held = {n for n in range(len(inputs)) if inputs.holds(n, key.variables)} - {key.target}
    references = {r.source: r for r in rules if isinstance(r, AfterRows) and r.target == key.target}
    stop = {r.target for r in rules if isinstance(r, ByCluster) and r.variables == key.variables}
    return tuple(references[n] for n in sorted(held)) if held and held <= references.keys() & stop else ()


def _ends_wait(inputs: JoinInputs, rule: Closer, target: int, asking: int) -> bool:
    """Whether a rule ends the wait of an input's rows for those of a target before they leave their window."""
    match rule:
        case InTime(other, source, reach):
            return (other, source) == (target, asking) and not leaves_sooner(inputs, asking, reach)
        case AfterRows(other, source):
            return (other, source) == (target, asking)
        case ByOrder(other, variables):
            return other == target and inputs.holds(asking, variables)
    return False


def leaves_sooner(inputs: JoinInputs, number: int, reach: K) -> bool:
    """Whether a row leaves its window no later than so long after it has entered."""
    spec = inputs.scans[number].spec if number in inputs.scans else None
    return isinstance(reach, int) and isinstance(spec, Range) and reach >= spec.stay


def _stops(rule: Closer, asking: int, key: ByKey) -> bool:
    """Whether a rule says when an input brings no more rows that ask for a key, whatever has come of it."""
    match rule:
        case InTime(target, source):
            return (target, source) == (asking, key.target)
        case ByOrder(target, variables):
            return target == asking and set(variables) <= set(key.variables)
    return False
