"""The streams of a join tree that are counted, in a chain of inclusions from the bucket stream on.

```text
     s ──▶ sa ──▶ a (anti)      each sa follows its s, so sa is counted, and stands for s; each a follows its sa, and is
                                counted beside it. A stream of which each row of s has one before it vanishes.
```
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.algebra.bucket_counts import Counted
from penstock.algebra.expressions import Column, Expr, columns, substitute
from penstock.algebra.link_monitor import LinkMonitor
from penstock.algebra.physical import Keep
from penstock.algebra.printing import expression_text
from penstock.algebra.relations import Output, Project, Relation, Select, Unbounded, Window
from penstock.catalog import Catalog
from penstock.elimination.conditions import condition_of
from penstock.elimination.constraints import Congruent
from penstock.elimination.counting.inclusions import Inclusion, Shown, follows, precedes, same_in_root
from penstock.elimination.counting.join_tree import Link, Member, NotCounted, timestamps
from penstock.elimination.watching import compared_columns, promise, read_rows, time_window


class Chain:
    """The streams that are counted: the last ones of chains of inclusions, and those of anti-joins with any."""

    def __init__(
        self, root: Member, links: Sequence[Link], keys: Sequence[Expr], catalog: Catalog, one_in: int
    ) -> None:
        self._catalog, self._one_in = catalog, one_in
        self.root, self._links = root, links
        #: The joined streams that no other is joined with, and of each anti-join's stream that which it follows.
        self._last: list[Member] = []
        self._follows: dict[str, str] = {}
        #: Of each counted stream how its columns name those of the root.
        self._carried: dict[str, Mapping[Column, Column]] = {root.name: {c: c for c in root.occurrence.leaf.schema}}
        self._vanished: set[str] = set()
        self.delays = {root.name: 0}
        #: How long after its row of the root a row may come that the conditions match; None: any time.
        self._most: dict[str, int | None] = {root.name: 0}
        self.shown: tuple[Shown, ...] = ()
        self.monitors: list[LinkMonitor] = []
        self._antis: list[Member] = []
        #: Why rows may match rows of an earlier bucket.
        self._matches_earlier: list[str] = []
        #: For columns of other streams that keys are given in, those of the root that are equal to them.
        self._equal = {
            column: self._same_in_root(column)
            for column in sorted({c for key in keys for c in columns(key)}, key=str)
            if column.scope != root.name
        }
        self._keys = tuple(map(self.in_root, keys))
        self._read = frozenset(column for key in self._keys for column in columns(key))

    def in_root(self, key: Expr) -> Expr:
        """A key in columns of the root."""
        return substitute(key, self._equal)

    def _same_in_root(self, column: Column) -> Column:
        found = same_in_root(column, self.root, self._links, self._catalog)
        if found is None:
            text = expression_text(column)
            raise NotCounted(
                f"{text} is not a column of {self.root.name}, whose time makes the buckets, nor equal to one"
            )
        self.shown += (found[1],)
        return found[0]

    @property
    def scan(self) -> Relation:
        """The rows of the root, as keys."""
        return _keyed(self.root, self._keys)

    @property
    def matches_for(self) -> int | None:
        """How long after a row of the root any row may come that the conditions match with it; None: any time."""
        most = list(self._most.values())
        return None if None in most else max(each for each in most if each is not None)

    @property
    def counted(self) -> tuple[Counted, ...]:
        """The streams to be counted beside the root, each with the root's keys in its own columns."""
        members = [*self._last, *self._antis]
        places = {member.name: place for place, member in enumerate(members)}
        return tuple(
            Counted(
                _keyed(m, self._keys_of(m)),
                self.delays[m.name],
                m.is_anti,
                places.get(self._follows[m.name]),
                m.window is not None,
            )
            for m in members
        )

    def take(self, link: Link) -> None:
        """Follows a link; anti-joins come last."""
        upper, lower = link.upper, link.lower
        if upper.is_anti:
            raise NotCounted(f"{lower.name} is joined with {upper.name}, which must not match")
        if not lower.is_anti:
            may_vanish = lower.window is None and self._may_vanish_below(upper)
            vanishing = precedes(link, self._catalog) if may_vanish else None
            if vanishing is not None:
                self._vanished.add(lower.name)
                self.shown += vanishing
                self._carry_back(link)
                least = time_window(link.on, lower.occurrence, upper.occurrence)[0]
                self._note_most(upper, lower, None if least is None else max(0, -least))
                exists, alone = vanishing
                self._watch(link, lower, upper, None, (exists, alone, alone))
                return
        if upper.name in self._vanished:
            raise NotCounted(
                f"{lower.name} is joined with {upper.name}, whose rows come before those of {self.root.name}"
            )
        self._include(follows(link, self._needed(upper), self._catalog))

    def _carry_back(self, link: Link) -> None:
        """The columns of a stream that vanishes which have the keys: then its monitor compares them.

        If a key is given in its columns they are needed, since nothing else would see that a row has other keys.
        """
        name = link.lower.name
        back = {own: column for column, own in self._equal.items() if column.scope == name}
        is_needed = bool(back)
        for own in sorted(self._read - back.keys(), key=str):
            same = next((c for c in link.lower.occurrence.leaf.schema if c.name == own.name), None)
            found = None if same is None else same_in_root(same, self.root, self._links, self._catalog)
            if same is None or found is None or found[0] != own:
                if is_needed:
                    raise NotCounted(f"{name} has no column that is equal to {expression_text(own)}")
                return
            back[own] = same
        self._carried[name] = back

    def require_later_rows(self) -> None:
        """An exact join can begin at any bucket only if no row of it matches one of an earlier bucket."""
        if self._vanished:
            raise NotCounted(
                f"WITHIN is kept by the exact join: {min(self._vanished)} has rows before those it matches"
            )
        if self._matches_earlier:
            raise NotCounted(f"WITHIN is kept by the exact join: {self._matches_earlier[0]}")

    def _may_vanish_below(self, upper: Member) -> bool:
        """Whether what a stream is joined with may vanish: not if of a stream that did so the keys are not known."""
        return upper is self.root or (upper.name in self._vanished and upper.name in self._carried)

    def _note_most(self, upper: Member, lower: Member, most: int | None) -> None:
        above = self._most[upper.name]
        self._most[lower.name] = None if above is None or most is None else above + most

    def _needed(self, upper: Member) -> frozenset[Column]:
        own = self._carried[upper.name]
        return frozenset(own[column] for column in self._read)

    def _include(self, found: Inclusion) -> None:
        upper, lower = found.link.upper, found.link.lower
        above = self._carried[upper.name]
        self._carried[lower.name] = {c: found.carried[own] for c, own in above.items() if own in found.carried}
        self.delays[lower.name] = self.delays[upper.name] + found.delay
        least, most = time_window(found.link.on, upper.occurrence, lower.occurrence)
        self._note_most(upper, lower, most)
        if least is None or least < 0:
            self._matches_earlier.append(f"its conditions match rows of {lower.name} before those of {upper.name}")
        self.shown += found.shown
        exists, one_lower, one_upper = found.shown
        self._watch(found.link, upper, lower, found.delay, (exists, one_upper, one_lower))
        self._follows[lower.name] = upper.name
        if lower.is_anti:
            self._antis.append(lower)
        else:
            self._last = [*(each for each in self._last if each is not upper), lower]

    def _watch(
        self, link: Link, parent: Member, child: Member, delay: int | None, shown: tuple[Shown, Shown, Shown]
    ) -> None:
        """Has the conditions of a link watched; of a link of streams that are not read one child per parent is not."""
        compared = list(compared_columns(link.on, parent.occurrence))
        least, most = time_window(link.on, parent.occurrence, child.occurrence)
        names = tuple(Column(child.name, f"_event{n}", key.type) for n, key in enumerate(self._keys))
        one, two, three = (promise(each.claim, each.leans_on, self._catalog) for each in shown)
        if not any(each.is_watched for each in (one, two, three)):
            return
        _require_watchable(link)
        parents = read_rows(parent.occurrence, [one_ for one_, _ in compared], self._keys_of(parent))
        children = read_rows(child.occurrence, [other for _, other in compared], self._keys_of(child))
        promises, shape = (one, two, three), (least, most, delay, delay is not None)
        self.monitors.append(LinkMonitor(parents, children, len(compared), names, *shape, promises, self._one_in))

    def _keys_of(self, member: Member) -> tuple[Expr, ...]:
        """The root's keys in the columns of a stream; none of one that vanished."""
        carried = self._carried.get(member.name)
        return () if carried is None else tuple(substitute(key, carried) for key in self._keys)


def _require_watchable(link: Link) -> None:
    """A monitor finds partners by equal columns and by differences of times, and must miss no condition."""
    times = timestamps(iter((link.upper, link.lower)))
    for predicate in link.on:
        if any(isinstance(each, Congruent) for each in condition_of(predicate, times) or ()):
            raise NotCounted(f"{expression_text(predicate)} is not watched")


def _keyed(member: Member, keys: Sequence[Expr]) -> Relation:
    """The rows of a member that pass its filters, as keys."""
    predicates = member.occurrence.predicates
    assert isinstance(member.occurrence.leaf, Window)
    leaf = Window(member.occurrence.leaf.stream, Unbounded())
    rows: Relation = Select(leaf, predicates) if predicates else leaf
    if not keys:
        return Keep(rows, ())
    return Project(rows, tuple(Output(Column(member.name, f"_key{n}", key.type), key) for n, key in enumerate(keys)))
