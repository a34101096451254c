"""Which groups have ended, and when (`closing/group_closers.py`): each input is closed for their keys.

Groups are examined all at once. Where they are just forgotten that is done when there are twice as many as were
left the last time, so it costs a little per row, and at most half of what is kept has ended. Where they show when they
close it is done whenever something may have closed some.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from penstock.algebra.physical import Scan
from penstock.algebra.relations import Relation, Schema
from penstock.closing.group_closers import (
    AfterJoin,
    AfterOrder,
    AfterPunctuation,
    AfterReference,
    Closers,
    GroupCloser,
    GroupEnding,
    GroupInTime,
    NeverNull,
    Waiting,
    WithFirstRow,
)
from penstock.closing.physical_join import punctuations_of
from penstock.kernels.sets import among
from penstock.operators.scalars import compile_scalar
from penstock.retention.code_owners import CodeOwner, RowCodeOwner
from penstock.retention.row_closings import ClusterClosings, OrderClosings, ReferenceClosings
from penstock.synopsis.deltas import NEVER, NULL_BITS, Bools, Deltas, is_null, part_of_rows, row_width, whole_rows
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.evidence import MISSING, Evidence
from penstock.synopsis.memory import Ints, Scope


class Groups(Protocol):
    """What keeps an entry per group."""

    def state_rows(self) -> int: ...

    def forget(self, closing: Callable[[Ints], Ints]) -> Deltas | None:
        """Drops what has closed; `closing` says when, of keys that are followed by their null bits."""


#: The ends that note values which are closed.
_Noted = AfterPunctuation | AfterJoin | AfterReference
#: What no column counts beyond.
_LAST = np.iinfo(np.int64).max

#: So few groups are examined in every step.
FEW_GROUPS = 1024


@dataclass(frozen=True, slots=True)
class Joined:
    """What a join below says of values that have ended, by its rules."""

    after: tuple[AfterJoin, ...] = ()
    #: The same, with the punctuations that each rule reads.
    done: tuple[tuple[AfterJoin, Relation | None], ...] = ()

    @staticmethod
    def below(node: GroupEnding) -> Joined:
        done = tuple((each, punctuations_of(node.input, each)) for each in node.done_by_join)
        return Joined(node.after_join, done)

    def rules_of(self, end: AfterPunctuation, punctuations: Scan) -> list[int]:
        """The numbers of the rules by which it is done with values of an end by these punctuations."""
        return [each.rule for each, read in self.done if each.keys == end.keys and read == punctuations]


NOT_JOINED = Joined()


class Endings:
    """Which entries have ended; they have these keys."""

    def __init__(
        self,
        memory: Scope,
        closers: Closers,
        schema: Schema,
        dictionary: Dictionary,
        *,
        joined: Joined = NOT_JOINED,
        emits: bool = False,
    ) -> None:
        """`schema` are the keys; what `emits` shows when it closes."""
        self._closers, self._schema, self._dictionary, self._emits = closers, schema, dictionary, emits
        self._keys, self._joined = len(schema), joined
        #: How many groups were left when they were last examined.
        self._left = memory.array("left", 1)
        #: By the ends that speak of values: those that do not come again, and since when.
        # Closers wait for one of the ends by punctuations or references, some for longer.
        punctuated = dict.fromkeys(end.at_once for end in closers.punctuations())
        referred = dict.fromkeys(end.at_once for end in closers if isinstance(end, AfterReference))
        ends: list[_Noted] = [*punctuated, *joined.after, *referred]
        self._by_reference = bool(referred)
        self._closed = {
            end: Evidence(memory.scope("closed", number), row_width(len(end.keys))) for number, end in enumerate(ends)
        }
        self._clusters = {
            end: ClusterClosings(memory.scope("cluster", number), len(end.keys), end.cluster)
            for number, end in enumerate(punctuated)
            if end.cluster is not None
        }
        self._references: dict[_Noted, ReferenceClosings] = {
            end: ReferenceClosings(memory.scope("reference", number), len(end.keys), end.then.k)
            for number, end in enumerate(ends)
            if not isinstance(end, AfterJoin) and end.then is not None
        }
        orders = dict.fromkeys(end for end in closers if isinstance(end, AfterOrder))
        self._orders = {end: OrderClosings(memory.scope("order", n), end.order) for n, end in enumerate(orders)}
        times = list(dict.fromkeys(end for end in closers if isinstance(end, GroupInTime)))
        self._values = {end: compile_scalar(end.expr, (end.timestamp,)) for end in times}
        #: The keys of a row that comes at the watermark, when groups were last examined.
        self._reached = memory.array("reached", len(times))[: len(times)]
        #: Whether a group may close when nothing else happens than that it comes, or time goes on a little.
        self._is_always_due = any(isinstance(end, WithFirstRow) or _reach(end) for end in closers) or bool(
            self._orders or self._clusters or self._references
        )
        self._rules = {end: joined.rules_of(end, closers.evidence[end.evidence]) for end in punctuated}
        #: By the ends by punctuations: values for which the join below gives no more results.
        self._done = {
            end: Evidence(memory.scope("done", n), row_width(len(end.keys))) for n, end in enumerate(self._rules)
        }

    def __len__(self) -> int:
        return sum(map(len, (*self._closed.values(), *self._done.values(), *self._open.values())))

    @property
    def code_owners(self) -> list[CodeOwner]:
        """What stores codes of interned values."""
        return [
            RowCodeOwner(entries.store.held_column, tuple(self._schema[key] for key in end.keys))
            for end, entries in (*self._closed.items(), *self._done.items(), *self._open.items())
        ]

    @property
    def _open(self) -> Mapping[_Noted, Evidence]:
        """Values whose clusters have not ended, or that are referred to by rows which still wait."""
        waiting: dict[_Noted, Evidence] = {end: cluster.open for end, cluster in self._clusters.items()}
        return waiting | {end: references.open for end, references in self._references.items()}

    def learn(self, came: Sequence[Deltas], until: int, ended: Mapping[int, Ints]) -> None:
        """Takes evidence, and by the rules of the join below the values for which it gives no more results."""
        for order, passed in self._orders.items():
            passed.step(came[order.evidence], until)
        for end, entries in self._closed.items():
            if isinstance(end, AfterReference | AfterPunctuation) and end.then is not None:
                times, values = self._references[end].step(came[end.evidence], came[end.then.ticks])
                entries.note(values, times)
            elif isinstance(end, AfterPunctuation):
                if end in self._clusters:
                    times, values = self._clusters[end].step(came[end.evidence], until)
                    entries.note(values, times)
                else:
                    entries.note(came[end.evidence].rows, came[end.evidence].ts)
                for rule in self._rules[end]:
                    if rule in ended:
                        done = whole_rows(ended[rule])
                        # A punctuation that is forgotten here already need not be noted as done.
                        _note(self._done[end], done[entries.words(done) != MISSING])
            elif end.rule in ended:
                _note(entries, whole_rows(ended[end.rule]))

    def forget(self, groups: Groups, until: int) -> Deltas | None:
        """Lets the groups go that closed before `until`, and gives them, if that is due."""
        if not self._is_due(until, groups.state_rows()):
            return None
        left: list[Ints] = []

        def closing(keys: Ints) -> Ints:
            closed = self._closing(keys, until, tuple(range(self._keys)), seen=True)
            left.append(keys[closed == NEVER])
            return closed

        closed = groups.forget(closing)
        self._left[0] = groups.state_rows()
        needless = [(end, self._needless(end, left[0], until)) for end in self._closed]
        for end, keys in needless:
            self._closed[end].forget_keys(keys)
            if end in self._done:
                self._done[end].forget_keys(keys)
        return closed

    def _is_due(self, until: int, groups: int) -> bool:
        """Whether groups are to be examined."""
        if self._emits:
            reached = [self._value(end, np.array([until]))[0] for end in self._values]
            passed = not np.array_equal(self._reached, reached)
            self._reached[:] = reached
            return bool(passed or self._is_always_due or len(self))
        return groups <= FEW_GROUPS or groups >= 2 * int(self._left[0]) or len(self) >= groups

    def _needless(self, end: _Noted, left: Ints, until: int) -> Ints:
        """The values that can have no more groups: all inputs are closed for them, or the join below is done with them.

        That may be known sooner than that a group with these keys is closed by its own closers, which then needs them.
        """
        keys = self._closed[end].entries().keys
        if isinstance(end, AfterJoin) or not len(keys):
            return keys
        is_asked = partial(among, keys, part_of_rows(left, end.keys, self._keys))
        if isinstance(end, AfterReference):
            return np.ascontiguousarray(keys[~is_asked()])  # a row that refers to it again is noted again
        is_done = self._done[end].words(keys) != MISSING
        if is_done.any():
            is_done &= ~is_asked()
        rows = _with_keys(keys, end.keys, self._keys)
        is_closed = self._closing(rows, until, end.keys, seen=False) != NEVER
        # References say nothing of values that have no entry, and need say nothing of them.
        is_done |= is_closed & ~is_asked() if self._by_reference else is_closed
        return np.ascontiguousarray(keys[is_done])

    def _closing(self, keys: Ints, until: int, known: tuple[int, ...], seen: bool) -> Ints:
        """When groups closed of whose keys some are `known`; if not `seen`, they may have no row yet."""
        if self._joined.after:
            gone = np.zeros(len(keys), np.bool_)
            for end in self._joined.after:
                gone |= self._noted(end, keys) != MISSING
            return np.where(gone, until - 1, NEVER)
        all_closed = np.zeros(len(keys), np.int64)
        for closers in self._closers.streams if seen else (*self._closers.streams, *self._closers.adding):
            closed = np.full(len(keys), NEVER, np.int64)
            for closer in closers:
                np.minimum(closed, self._closed_by(closer, keys, until, known, seen=seen), out=closed)
            np.maximum(all_closed, closed, out=all_closed)
        all_closed[all_closed >= until] = NEVER
        return all_closed

    def _closed_by(self, closer: GroupCloser, keys: Ints, until: int, known: tuple[int, ...], *, seen: bool) -> Ints:
        """When a stream was closed by one of its closers."""
        closed = np.full(len(keys), NEVER, np.int64)
        match closer:
            case GroupInTime(key) if key in known:
                closed = self._passed(closer, keys, until)
            case AfterPunctuation(own) if set(own) <= set(known):
                noted = self._noted(closer.at_once, keys)
                speaks = (noted != MISSING) & ~self._has_null(keys, closer.never_null)
                closed[speaks] = noted[speaks]
            case AfterReference():
                noted = self._noted(closer.at_once, keys) if seen else np.zeros(len(keys), np.int64)
                closed[noted != MISSING] = noted[noted != MISSING]
            case AfterOrder((key,)) if key in known:
                closed = np.where(self._has_null(keys, (key,)), NEVER, self._orders[closer].closed(keys[:, key]))
            case WithFirstRow() if seen:
                closed[:] = 0
            case NeverNull(own):
                closed[self._has_null(keys, own)] = 0
        return np.where(closed == NEVER, NEVER, closed + _reach(closer))

    def _noted(self, end: _Noted, keys: Ints) -> Ints:
        return self._closed[end].words(part_of_rows(keys, end.keys, self._keys))

    def _has_null(self, keys: Ints, some: Iterable[int]) -> Bools:
        """Which groups have NULL in one of some keys."""
        null = np.zeros(len(keys), np.bool_)
        if keys[:, self._keys :].any():
            for key in some:
                null |= is_null(keys, key, self._keys)
        return null

    def _passed(self, end: GroupInTime, keys: Ints, until: int) -> Ints:
        """The last instant that has each key's value, if it is before `until`."""
        values = keys[:, end.key]
        over = (values < self._value(end, np.array([until]))[0]) & ~is_null(keys, end.key, self._keys)
        found = np.full(len(keys), NEVER, np.int64)
        if self._emits or end.reach:
            wanted, inverse = np.unique(values[over], return_inverse=True)
            found[over] = self._last_instants(end, wanted, until)[inverse]
        else:
            found[over] = until - 1
        return found

    def _last_instants(self, end: GroupInTime, values: Ints, until: int) -> Ints:
        """By bisection, since the value never falls as time goes on."""
        low, high = np.zeros(len(values), np.int64), np.full(len(values), until, np.int64)
        while np.any(high - low > 1):
            middle = (low + high) // 2
            is_later = self._value(end, middle) > values
            high, low = np.where(is_later, middle, high), np.where(is_later, low, middle)
        return low

    def _value(self, end: GroupInTime, instants: Ints) -> Ints:
        """The least key of rows that come at some instants, or later."""
        rows = np.zeros((len(instants), row_width(1)), np.int64)
        rows[:, 0] = end.unit.least(np.minimum(instants, _LAST // end.unit.divisor))
        codes, _ = self._values[end](rows, self._dictionary)
        return np.asarray(codes, np.int64)


def _reach(closer: GroupCloser) -> int:
    """How long after something else it closes a stream."""
    return closer.reach if isinstance(closer, Waiting) else 0


def _note(entries: Evidence, keys: Ints) -> None:
    entries.note(keys, np.zeros(len(keys), np.int64))


def _with_keys(some: Ints, places: Sequence[int], keys: int) -> Ints:
    """Groups of which only the keys in some places are known, and given as rows."""
    rows = np.zeros((len(some), row_width(keys)), np.int64)
    for number, place in enumerate(places):
        rows[:, place] = some[:, number]
        null = is_null(some, number, len(places))
        rows[:, keys + place // NULL_BITS] |= null.astype(np.int64) << (place % NULL_BITS)
    return rows
