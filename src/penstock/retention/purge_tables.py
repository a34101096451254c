"""A join's stores, indexes and rules, as `kernels/purge.py` reads them.

What does not change while a query runs is laid out once. Addresses change when arrays grow, limits when a monitor says
so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import reduce
from operator import or_

import numpy as np

from penstock.algebra.physical import Scan
from penstock.algebra.relations import Range, Relation, Table, Unbounded
from penstock.closing.join_variables import inputs_with_variables
from penstock.closing.physical_join import PhysicalJoin
from penstock.closing.rules import (
    AfterRows,
    ByCluster,
    ByKey,
    ByLifespan,
    ByNo,
    ByOrder,
    ByPunctuation,
    InTime,
    Rule,
    Static,
    k_of,
)
from penstock.kernels import purge as kernel
from penstock.kernels.pointers import address
from penstock.kernels.star import Star
from penstock.retention.closing_state import ClosingState
from penstock.retention.monitors import Monitors
from penstock.synopsis.index import Index
from penstock.synopsis.indexed_inputs import IndexedInputs
from penstock.synopsis.memory import Ints

_KINDS = {
    Static: kernel.STATIC,
    InTime: kernel.IN_TIME,
    AfterRows: kernel.AFTER_ROWS,
    ByPunctuation: kernel.PUNCTUATED,
    ByLifespan: kernel.LIVING,
    ByKey: kernel.BY_KEY,
    ByNo: kernel.IN_NO,
    ByCluster: kernel.CLUSTERED,
    ByOrder: kernel.ORDERED,
}

#: In which order the rules of a star are asked: what costs least first, and what says only when it will be closed last.
_IN_A_STAR = (Static, InTime, AfterRows, ByOrder, ByKey, ByNo, ByPunctuation, ByLifespan, ByCluster)

#: More than can be known, so that a rule never applies.
_OFF = -1
#: Of joins of up to so many inputs it is noted for each set of them which rules apply.
MOST_PLANNED = 8


class PurgeTables:
    """`stamps`: what is noted with the rows of the source of a rule."""

    def __init__(
        self,
        node: PhysicalJoin,
        core: IndexedInputs,
        closing_state: ClosingState,
        monitors: Monitors,
        stamps: Callable[[int], Ints],
    ) -> None:
        self._node, self._core, self._closing, self._monitors, self._stamps = (
            node,
            core,
            closing_state,
            monitors,
            stamps,
        )
        self._held = inputs_with_variables(node)
        self._evidence = list(closing_state.evidence.values())
        #: The clocks that rules read.
        read = {kernel.TIME, *map(closing_state.clock_of, range(len(node.rules)))}
        self._clock_numbers = np.array(sorted(read), np.int64)
        self.clock_count = len(read)
        self._reaches = np.array([_reach(operand) for operand in node.operands], np.int64)
        #: Inputs whose rows leave their window at times that are not known before, or not to the instant.
        self.leaving_at_times_unknown = {n for n, operand in enumerate(node.operands) if not _leaves_in_time(operand)}
        self._lay_out_indexes()
        self._lay_out_rules()

    def _lay_out_indexes(self) -> None:
        """The indexes on the inputs, and then those on evidence."""
        count, core = len(self._core.inputs), self._core
        own = [(owner, tuple(index.columns.tolist()), index) for (owner, _), index in core.indexes()]
        others = [(count + n, tuple(range(each.width)), each.index) for n, each in enumerate(self._evidence)]
        most = max([1, *(len(columns) for _, columns, _ in own + others)])
        columns, variables = (np.full((len(own + others), most), -1, np.int64) for _ in range(2))
        self._indexes: list[Index] = [index for _, _, index in own + others]
        self._index_lines = np.zeros((len(own + others), 6), np.int64)
        for n, (store, held, _) in enumerate(own + others):
            columns[n, : len(held)] = held
            if n < len(own):
                variables[n, : len(held)] = [core.variable(store, column) for column in held]
            bits = sum(1 << v for v in set(variables[n, : len(held)].tolist()) if v >= 0)
            self._index_lines[n, [kernel.STORE, kernel.COLUMNS, kernel.VARIABLES]] = store, len(held), bits
        lines = [[-1 if column is None else column for column in source.variables] for source in core.inputs]
        # Of a variable that nobody has, where there is none.
        of_inputs = np.array([line or [-1] for line in lines], np.int64)
        has = np.array([sum(1 << v for v, c in enumerate(line) if c >= 0) for line in lines], np.int64)
        by_input = [
            sorted((n for n, (store, _, _) in enumerate(own) if store == number), key=lambda n: -len(own[n][1]))
            for number in range(count)
        ]
        self._of_columns = (columns, variables, of_inputs, has, *_in_one(by_input))

    def _lay_out_rules(self) -> None:
        rules = self._node.rules
        keyed = ByKey | ByNo | ByPunctuation | ByLifespan | ByCluster | ByOrder
        most = max([1, *(len(rule.variables) for rule in rules if isinstance(rule, keyed))])
        self._lines, self._variables = np.zeros((len(rules), 9), np.int64), np.zeros((len(rules), most), np.int64)
        for number, rule in enumerate(rules):
            line = self._lines[number]
            line[kernel.KIND], line[kernel.TARGET] = _KINDS[type(rule)], rule.target
            line[kernel.CLOCK] = np.searchsorted(self._clock_numbers, self._closing.clock_of(number))
            line[kernel.NEEDS] = sum(1 << v for v in set(wanted_variables(rule, self._held)))
            if isinstance(rule, keyed):
                line[kernel.KEYS] = len(rule.variables)
                self._variables[number, : len(rule.variables)] = rule.variables
                line[kernel.INDEX] = self._index_number(number, rule)
            if isinstance(rule, InTime | AfterRows):
                line[kernel.SOURCE] = rule.source
            if isinstance(rule, ByLifespan):
                line[kernel.LIMIT] = rule.lifespan
        width = len(self._core.inputs)
        if width > MOST_PLANNED:
            self._programs = _in_one([[number for number, rule in enumerate(rules) if not self._is_idle(rule)]])
        else:
            self._programs = _in_one([self._applicable(inputs) for inputs in range(1 << width)])

    def _applicable(self, inputs: int) -> list[int]:
        """The rules that may say something of a binding of rows of these inputs, which are bits."""
        has = self._of_columns[3]
        known = reduce(or_, (int(bits) for n, bits in enumerate(has) if inputs >> n & 1), 0)
        return [
            number
            for number, (rule, line) in enumerate(zip(self._node.rules, self._lines.tolist(), strict=True))
            if not self._is_idle(rule)
            and not inputs >> rule.target & 1
            and not line[kernel.NEEDS] & ~known
            and (not isinstance(rule, InTime | AfterRows) or inputs >> rule.source & 1)
        ]

    def may_go(self, number: int) -> bool:
        """Whether rules say anything of an input's rows. Else they are there until they leave their window."""
        return bool(self._applicable(1 << number))

    def is_star(self, number: int) -> bool:
        """Whether all rules that there are about other inputs speak of an input's rows directly."""
        own = self._applicable(1 << number)
        return all(rule.target == number or n in own or self._is_idle(rule) for n, rule in enumerate(self._node.rules))

    def star(self, number: int, stays: bool, without: Collection[int] = ()) -> Star:
        """The rules of an input that speak of its rows directly, but for some. `stays`: whether rows of results do."""
        own, rules = self._applicable(1 << number), self._node.rules
        others = [n for n in range(len(self._core.inputs)) if n != number]
        by_other = [[n for n in own if rules[n].target == other and n not in without] for other in others]
        for steps in by_other:
            steps.sort(key=lambda n: (stays and not isinstance(rules[n], ByKey), _IN_A_STAR.index(type(rules[n]))))
        return Star(number, *_in_one(by_other), stays)

    def wait_for_clocks(self, number: int, without: Collection[int]) -> bool:
        """Whether none of the rules that speak of an input's rows, but for some, goes by values that come."""
        own = (self._node.rules[n] for n in self._applicable(1 << number) if n not in without)
        return all(isinstance(rule, Static | InTime | AfterRows | ByOrder) for rule in own)

    def are_all_keyed(self, number: int) -> bool:
        """Whether an input's rows have the keys of all others: then each is in one result at most."""
        own = map(self._node.rules.__getitem__, self._applicable(1 << number))
        keyed = {rule.target for rule in own if isinstance(rule, ByKey)}
        return len(keyed) == len(self._core.inputs) - 1

    def _is_idle(self, rule: Rule) -> bool:
        """Whether a rule says nothing as long as the row that it goes by is in its window."""
        if not isinstance(rule, InTime) or not isinstance(rule.reach, int):
            return False
        return 0 <= int(self._reaches[rule.source]) <= rule.reach

    def tables(self) -> kernel.Tables:
        inputs = [source.store for source in self._core.inputs]
        stores = [(address(store.rows), address(store.starts), store.rows.shape[1]) for store in inputs]
        stores += [(address(own.store.rows), 0, own.width + 1) for own in self._evidence]
        for line, index in zip(self._index_lines, self._indexes, strict=True):
            line[kernel.HEADS], line[kernel.LINKS], line[kernel.MASK] = index.heads, index.links, index.mask
        return kernel.Tables(np.array(stores, np.int64), self._index_lines, *self._of_columns)

    def rules(self, without: Sequence[Rule] = ()) -> kernel.Rules:
        """The rules, but for some."""
        lines = self._lines.copy()
        for number, rule in enumerate(self._node.rules):
            if isinstance(rule, ByNo) and not len(self._closing.evidence[number]):
                lines[number, kernel.NEEDS] = _OFF
            if (k := k_of(rule)) is None:
                continue
            line, limit = lines[number], self._monitors.limit(k)
            if limit is None or rule in without:
                line[kernel.NEEDS] = _OFF
                continue
            # After rows, when so many have come; else later than that.
            line[kernel.LIMIT] = limit if isinstance(rule, AfterRows) else limit + 1
            if isinstance(rule, AfterRows):
                line[kernel.STAMPS] = address(self._stamps(number))
        return kernel.Rules(lines, self._variables, self.clocks(), self._reaches, *self._programs)

    def clocks(self) -> Ints:
        clocks: Ints = self._closing.clocks[self._clock_numbers]
        return clocks

    def _index_number(self, number: int, rule: Rule) -> int:
        if isinstance(rule, ByKey):
            return self._core.index_number(rule.target, rule.variables)
        count = len(self._core.indexes())
        return count + list(self._closing.evidence).index(number) if number in self._closing.evidence else 0


def _in_one(lists: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    """Lists one behind the other: where each begins, and the last one ends; and what is in them."""
    begins = np.cumsum([0, *map(len, lists)])
    return begins, np.array([each for own in lists for each in own], np.int64)


def wanted_variables(rule: Rule, held: Sequence[set[int]]) -> tuple[int, ...]:
    """The variables that must be known for a rule, by which rows of its target are then found."""
    match rule:
        case InTime(target, source) | AfterRows(target, source):
            return tuple(v for v, own in enumerate(held) if {target, source} <= own)
        case Static():
            return ()
    return rule.variables


def _reach(operand: Relation) -> int:
    """How long after it has entered a row is in its window; of a window that slides, at most."""
    match operand:
        case Scan(spec=Range() as spec):
            return spec.stay
        case Scan(spec=Unbounded()) | Table():
            return kernel.ALWAYS
    return kernel.NOT_KNOWN


def _leaves_in_time(operand: Relation) -> bool:
    """Whether it is known when a row leaves its window, if ever."""
    match operand:
        case Scan(spec=Range(slide=None) | Unbounded()) | Table():
            return True
    return False
