"""An input that defeats every plan: rows that have to be kept although all punctuations came that may come.

The necessary part of theorem 3 (004), as data. The rows of an unpurgeable stream and their partners in the streams that
it reaches have values of their own; then come all punctuations for these values; and still for each row there may come
future rows, with the same values where a reached row has told them and new ones elsewhere, that join it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from penstock.closing.join_predicates import JoinAttribute
from penstock.closing.punctuation.forward_chaining import reach, rules_of
from penstock.closing.punctuation.join_classes import ZERO, JoinClasses, join_classes
from penstock.closing.punctuation.query import PunctuatedJoin
from penstock.closing.punctuation.schemes import Punctuation, Scheme


@dataclass(frozen=True, slots=True)
class StreamRow:
    """A row of a stream has a value for each attribute."""

    stream: str
    values: tuple[tuple[str, Hashable], ...]

    def __getitem__(self, name: str) -> Hashable:
        return dict(self.values)[name]

    def __str__(self) -> str:
        return f"{self.stream}({', '.join(f'{name}={value!r}' for name, value in self.values)})"


@dataclass(frozen=True, slots=True)
class PurgeDefeat:
    """First `kept` and their `partners` arrive, then the `punctuations`; then `futures[i]` still joins `kept[i]`."""

    kept: tuple[StreamRow, ...]
    partners: tuple[StreamRow, ...]
    punctuations: tuple[Punctuation, ...]
    futures: tuple[tuple[StreamRow, ...], ...]


def purge_defeat(query: PunctuatedJoin, schemes: Iterable[Scheme], stream: str, size: int) -> PurgeDefeat:
    """Build `size` rows of a stream that is not purgeable, none of which may be forgotten.

    >>> from penstock.closing.join_predicates import JoinEquality
    >>> from penstock.closing.punctuation.query import PunctuatedStream
    >>> item, bid = PunctuatedStream("item", ("id",)), PunctuatedStream("bid", ("auction", "bidder"))
    >>> equal = JoinEquality(JoinAttribute("item", "id"), JoinAttribute("bid", "auction"))
    >>> query = PunctuatedJoin((item, bid), (equal,))
    >>> found = purge_defeat(query, [Scheme("bid", ("bidder",))], "item", 2)
    >>> print(*found.kept, *found.punctuations)
    item(id=1) item(id=2) bid(bidder = 1) bid(bidder = 2)
    >>> print(*(row for future in found.futures for row in future))
    bid(auction=1, bidder=4) bid(auction=2, bidder=5)
    """
    classes = join_classes(query)
    rules = rules_of(classes, schemes)
    reached = reach(rules, (stream,))
    if classes.solution is None or len(reached.streams) == len(query.streams):
        raise ValueError(f"{stream} is purgeable")
    olds = [_old(classes, index) for index in range(size)]
    orders = [value for old in olds for number in classes.ordered if isinstance(value := old[number], int)]
    spread = max(orders, default=0) - min(orders, default=0) + 1
    ways = {n: 0 if n in reached.known else -1 if n in reached.above else 1 for n in range(len(classes.members))}
    news = [_new(classes, old, ways, size + index + 2, spread) for index, old in enumerate(olds)]
    here = [name for name in query.names if name in reached.streams and name != stream]
    ahead = [name for name in query.names if name not in reached.streams]
    return PurgeDefeat(
        tuple(_row(query, classes, stream, old) for old in olds),
        tuple(_row(query, classes, name, old) for old in olds for name in here),
        tuple(dict.fromkeys(_punctuation(classes, r.scheme, old, olds) for r in rules.rules for old in olds)),
        tuple(tuple(_row(query, classes, name, new) for name in ahead) for new in news),
    )


def _old(classes: JoinClasses, index: int) -> dict[int, Hashable]:
    """Choose a value for each class so that all predicates hold: another for each index, unless constants fix it."""
    assert classes.solution is not None
    ordered, tied = classes.ordered, _tied(classes)
    old: dict[int, Hashable] = {}
    for number in range(len(classes.members)):
        if number in classes.finite:
            values = sorted(classes.finite[number], key=repr)
            old[number] = values[index % len(values)]
        elif number in ordered:
            old[number] = classes.solution[number] + (0 if number in tied else index + 1)
        else:
            old[number] = index + 1
    return old


def _tied(classes: JoinClasses) -> set[int]:
    """Differences connect these classes with the constant 0."""
    tied, stack = {ZERO}, [ZERO]
    while stack:
        node = stack.pop()
        new = {edge.target for edge in (*classes.upward[node], *classes.downward[node])} - tied
        tied |= new
        stack += new
    return tied


def _new(
    classes: JoinClasses, old: dict[int, Hashable], ways: dict[int, int], fresh: int, spread: int
) -> dict[int, Hashable]:
    """Old values where they are known, else new ones: far above in order, or far below where known ones bound them.

    No difference is broken: none bounds a class that goes up by one that does not, or one that goes down the other way.
    """
    new = dict(old)
    for number, way in ways.items():
        value = old[number]
        if way and number in classes.ordered and isinstance(value, int):
            new[number] = value + way * spread
        elif way:
            new[number] = fresh
    return new


def _row(query: PunctuatedJoin, classes: JoinClasses, name: str, values: dict[int, Hashable]) -> StreamRow:
    stream = next(each for each in query.streams if each.name == name)
    return StreamRow(name, tuple((each, values[classes.of[JoinAttribute(name, each)]]) for each in stream.attributes))


def _punctuation(
    classes: JoinClasses, scheme: Scheme, old: dict[int, Hashable], olds: list[dict[int, Hashable]]
) -> Punctuation:
    values = tuple(old[classes.of[JoinAttribute(scheme.stream, name)]] for name in scheme.attributes)
    if scheme.order is None:
        return Punctuation(scheme, values)
    orders = [each[classes.of[JoinAttribute(scheme.stream, scheme.order)]] for each in olds]
    return Punctuation(scheme, values, max(order for order in orders if isinstance(order, int)))
