"""Punctuations that a join would keep without end: some input may always bring a row that asks for them (004, 5.1).

A punctuation of b is kept as long as a row of another input with its values is there, or may arrive: by it
that row is known to join nothing new. So each other input with these values has to stop bringing them (by punctuations
or the order of its own, or because the punctuation refers to its row and RIDS says by when), or its rows have to go
without the punctuation. A key or a cluster says nothing of values of which no row ever comes. Values that no single
input has are asked for by rows of several.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from penstock.closing.chaining import Granted, VariableColumns, chain
from penstock.closing.join_inputs import JoinInputs
from penstock.closing.rules import ByDeclaration, ByOrder, ByPunctuation, Closer, Estimate, k_of


def gone_by(
    variables: VariableColumns, closers: Iterable[Closer], forgets: Collection[int], count: int
) -> frozenset[int]:
    """Those inputs, of some, whose rows all go in the end by these closers."""
    closers = tuple(closers)
    return frozenset(n for n in forgets if chain(variables, closers, n, count, Granted.PARTNERS) is not None)


def going_without(
    variables: VariableColumns, closers: Sequence[Closer], forgets: Collection[int], count: int
) -> dict[ByPunctuation, frozenset[int]]:
    """Of each closer by punctuations the inputs whose rows all go in the end without it, by closers whose k is fixed.

    Where two closers would each do without the other, one of them is needed: the others then go by that.
    """
    kept = list(closers)
    plain = gone_by(variables, (each for each in kept if not isinstance(each, ByPunctuation)), forgets, count)
    found = dict[ByPunctuation, frozenset[int]]()
    punctuations = (each for each in closers if isinstance(each, ByPunctuation))
    for closer in sorted(punctuations, key=lambda each: (len(each.variables), each.target, each.variables)):
        without = [other for other in kept if other != closer]
        is_needless = gone_by(variables, without, forgets, count) == frozenset(forgets)
        kept = without if is_needless else kept
        found[closer] = frozenset(forgets) if is_needless else plain
    return found


def piling_up(inputs: JoinInputs, closers: Sequence[Closer], forgets: Collection[int]) -> dict[Closer, str]:
    """The closers whose punctuations pile up in a run that drops rows of these inputs, and why, each in a sentence."""
    fixed = [each for each in closers if isinstance(each, ByDeclaration) or not isinstance(k_of(each), Estimate)]
    without = going_without(inputs.variables, fixed, forgets, len(inputs))
    # Those that are not dropped before they are needless have to be enough, whether partners come or not.
    needed = [each for each in fixed if not isinstance(each, ByPunctuation) or without[each] != frozenset(forgets)]
    sure = {n for n in inputs.scans if chain(inputs.variables, needed, n, len(inputs)) is not None}
    found = dict[Closer, str]()
    for closer, going in without.items():
        asking = [n for n in inputs.scans if inputs.is_unbounded(n) and n not in going & sure]
        holding = [n for n in inputs.scans if n != closer.target and inputs.holds(n, closer.variables)]
        asking = [n for n in asking if n in holding and not _stops(n, closer, closers)] if holding else asking
        if asking:
            found[closer] = _reason(inputs, closer, asking[0] if holding else None)
    return found


def _reason(inputs: JoinInputs, closer: ByPunctuation, asking: int | None) -> str:
    columns = (inputs.variables[v][closer.target if asking is None else asking] for v in closer.variables)
    names = ", ".join(column.name for column in columns if column is not None)
    kept = f"one punctuation of {inputs.label(closer.target)} is kept for every value of {names}"
    if asking is None:
        return f"{kept}, because rows of several inputs that need it together may always arrive"
    return f"{kept}, because a row of {inputs.label(asking)} that needs it may always arrive"


def _stops(number: int, closer: ByPunctuation, closers: Sequence[Closer]) -> bool:
    """Whether an input brings no more rows with the values of a punctuation in the end, be there any or not."""
    if any(referred.target == number for referred in closer.referred):
        return True
    closing = ByPunctuation | ByDeclaration | ByOrder
    return any(
        isinstance(other, closing) and other.target == number and set(other.variables) <= set(closer.variables)
        for other in closers
    )
