"""A query implies comparisons of some of its streams by what it says of others: the paper's IND.

`S.a = T.d AND T.d < 20` bounds S.a. A synopsis needs to know: it keeps no row that can never join.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import product

from penstock.register.arithmetic.closure import WHOLE, ZERO, Closure, closed, strictness_once, tighten
from penstock.register.arithmetic.query import Comparison, Domain, Op


def induced(closure: Closure, streams: Collection[str]) -> Iterator[Comparison]:
    """Find implied comparisons of attributes of these streams that do not follow from those that are written.

    >>> from penstock.register.arithmetic.closure import close
    >>> from penstock.register.arithmetic.query import ComparedAttribute, ConjunctiveQuery
    >>> a, d = ComparedAttribute("S", "a"), ComparedAttribute("T", "d")
    >>> query = ConjunctiveQuery.over("ST", [Comparison(a, Op.LE, d), Comparison(d, Op.LT, 20)], [a], distinct=False)
    >>> print(*induced(close(query), ["S"]))
    S.a <= 19
    """
    nodes = [ZERO, *(node for node, attribute in enumerate(closure.attributes, 1) if attribute.stream in streams)]
    at = {node: number for number, node in enumerate(nodes)}
    # A limit that `<>` sets may rest on what is said of other streams.
    written = [upper for upper in closure.uppers if upper.comparison.op is not Op.NE]
    within = [(at[u.left], at[u.right], u.limit) for u in written if u.left in at and u.right in at]
    matrix = closed(len(nodes), within)
    assert matrix is not None, "a part of what is satisfiable is satisfiable"
    for left, right in product(nodes, repeat=2):
        limit, known = closure.matrix[left][right], matrix[at[left]][at[right]]
        if limit is not None and (known is None or limit < strictness_once(known)):
            comparison = _comparison(closure, left, right, limit)
            if comparison is not None:
                tighten(matrix, at[left], at[right], limit)
                yield comparison


def _comparison(closure: Closure, left: int, right: int, limit: int) -> Comparison | None:
    """Write `left - right <= limit` as a comparison, unless it relates two domains: then constants say it already."""
    one, other = (None if node == ZERO else closure.attributes[node - 1] for node in (left, right))
    domains = {attribute.domain for attribute in (one, other) if attribute is not None}
    whole = -(-limit // WHOLE) * WHOLE
    value = closure.number(whole)
    if len(domains) > 1:
        return None
    if Domain.OTHER in domains:
        if one is None or closure.matrix[right][left] != -limit:
            return None
        return Comparison(one, Op.EQ, closure.codes[int(value)] if other is None else other)
    op = Op.LE if whole == limit else Op.LT
    if one is None:
        return Comparison(-value, op, other)
    return Comparison(one, op, value) if other is None else Comparison(one, op, other, value)
