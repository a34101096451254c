"""The smallest machine that runs a join as `Handling` says: what it stores is what the analysis allows, and no more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from penstock.closing.kconstraints import After, Component, ConstrainedJoin, Lapse, Passed, RowCount
from tests.reference.kconstraints import Analysis, Handling, Stored
from tests.reference.kconstraints.handling import (
    ChainedPurge,
    ChildOverdue,
    DropAfter,
    Evidence,
    Expire,
    Forget,
    Move,
    ParentsClosed,
    ParentsOverdue,
    Purge,
)
from tests.register.kconstraints.model import Event, in_window, is_over

Row = Event
Result = frozenset[Event]


class Machine:
    def __init__(
        self, query: ConstrainedJoin, analysis: Analysis, handlings: Mapping[str, Handling] | None = None
    ) -> None:
        self.query, self.graph = query, analysis.graph
        self.handlings = handlings or {verdict.stream: verdict.handling for verdict in analysis.streams}
        self.past: list[Event] = []
        self.yes: dict[str, list[Row]] = {stream.name: [] for stream in query.streams}
        self.unknown: dict[str, list[Row]] = {stream.name: [] for stream in query.streams}
        self.no: dict[str, list[Row]] = {stream.name: [] for stream in query.streams}
        self.emitted: Counter[Result] = Counter()
        self.relation: Counter[Result] = Counter()

    def arrive(self, event: Event) -> None:
        self.past.append(event)
        self.expire()
        checks = self.handlings[event.stream].own_checks
        fits = all(event.values[left] == event.values[right] for left, right in checks)
        if not event.passes() or not fits or not self.visibility(event):
            self.to_no(event)
        else:
            new = Counter(self.results_with(event))
            self.emitted += new
            self.relation += new
            self.unknown[event.stream].append(event)
        self.settle()

    def stored(self, stream: str) -> list[Row]:
        return [*self.yes[stream], *self.unknown[stream]]

    def agree(self, left: Row, right: Row) -> bool:
        numbers = self.graph.shared(left.stream, right.stream)
        return all(
            left.values[one] == right.values[other]
            for number in numbers
            for one in self.graph.attributes(left.stream, {number})
            for other in self.graph.attributes(right.stream, {number})
        )

    def results_with(self, row: Row) -> Iterator[Result]:
        def extend(joined: tuple[Row, ...], rest: list[str]) -> Iterator[Result]:
            if not rest:
                yield frozenset(joined)
                return
            for other in self.stored(rest[0]):
                if all(self.agree(one, other) for one in joined):
                    yield from extend((*joined, other), rest[1:])

        yield from extend((row,), [name for name in self.graph.names if name != row.stream])

    def visibility(self, row: Row) -> bool:
        return in_window(self.query.stream(row.stream), self.past, row, self.past[-1].at)

    def expire(self) -> None:
        for name in self.graph.names:
            if any(isinstance(move, Expire) for move in self.handlings[name].moves):
                for row in self.stored(name):
                    if row in self.stored(name) and not self.visibility(row):
                        self.drop(row)
                        for result in self.results_with(row):
                            self.relation[result] -= 1
                        self.to_no(row)

    def drop(self, row: Row) -> None:
        for component in (self.yes, self.unknown):
            if row in component[row.stream]:
                component[row.stream].remove(row)

    def to_no(self, row: Row) -> None:
        self.drop(row)
        if self.handlings[row.stream].no is Stored.KEY:
            self.no[row.stream].append(row)
        for parent in self.graph.parents[row.stream]:
            for other in self.stored(parent):
                if self.agree(other, row) and other in self.stored(parent):
                    self.to_no(other)

    def found(self, row: Row) -> tuple[Component, dict[str, Row]]:
        """The component of a row, and the rows of G_S(Q) that are there."""
        rows, verdict = {row.stream: row}, Component.YES
        for lookup in self.handlings[row.stream].lookups:
            if any(source.stream not in rows for source, _ in lookup.key):
                verdict = Component.UNKNOWN
                continue
            key = {name: rows[source.stream].values[source.name] for source, name in lookup.key}
            match = [one for one in self.stored(lookup.stream) if all(one.values[name] == key[name] for name in key)]
            if not match:
                if any(all(one.values[name] == key[name] for name in key) for one in self.no[lookup.stream]):
                    return Component.NO, rows
                verdict = Component.UNKNOWN
                continue
            rows[lookup.stream] = match[0]
            for source, name in lookup.checks:
                if source.stream in rows and rows[source.stream].values[source.name] != match[0].values[name]:
                    return Component.NO, rows
        return verdict, rows

    def settle(self) -> None:
        """Moves rows until nothing changes."""
        before = None
        while before != (before := self.counts()):
            for name in self.graph.names:
                for row in list(self.unknown[name]):
                    if row not in self.unknown[name]:
                        continue
                    verdict, _ = self.found(row)
                    if verdict is Component.NO:
                        self.to_no(row)
                    elif verdict is Component.YES:
                        self.unknown[name].remove(row)
                        self.yes[name].append(row)
            for name in self.graph.names:
                for move in self.handlings[name].moves:
                    self.apply(name, move)
        for name in self.graph.names:
            if self.handlings[name].yes is Stored.NOTHING:
                self.yes[name].clear()
            if self.handlings[name].unknown is Stored.NOTHING:
                self.unknown[name].clear()

    def counts(self) -> list[tuple[int, int, int]]:
        return [(len(self.yes[name]), len(self.unknown[name]), len(self.no[name])) for name in self.graph.names]

    def apply(self, name: str, move: Move) -> None:
        match move:
            case ChildOverdue(child, step, column):
                for row in list(self.unknown[name]):
                    if self.step_is_over(row, step, column) and not any(
                        self.agree(row, one) for one in self.stored(child)
                    ):
                        self.to_no(row)
            case DropAfter(component, waits, of):
                for row in list(self.component(component)[name]):
                    start = self.found(row)[1].get(of)
                    if start is not None and all(is_over(self.query, wait.steps, self.past, start) for wait in waits):
                        self.leave(component, row)
            case ChainedPurge(component, guards, complete):
                for row in list(self.component(component)[name]):
                    if self.chain_ends(row, guards, complete):
                        self.leave(component, row)
            case Purge(evidence):
                for row in self.stored(name):
                    if self.no_more_parents(row, evidence) and not any(
                        self.agree(parent, row) for one in evidence for parent in self.unknown[one[0].parent]
                    ):
                        self.purge(row)
            case Forget(evidence):
                self.no[name] = [row for row in self.no[name] if not self.no_more_parents(row, evidence)]

    def component(self, component: Component) -> dict[str, list[Row]]:
        return {Component.YES: self.yes, Component.NO: self.no, Component.UNKNOWN: self.unknown}[component]

    def leave(self, component: Component, row: Row) -> None:
        if component is Component.NO:
            self.no[row.stream].remove(row)
        else:
            self.to_no(row)

    def purge(self, row: Row) -> None:
        self.drop(row)
        for parent in self.graph.parents[row.stream]:
            for other in self.stored(parent):
                if self.agree(other, row) and other in self.stored(parent):
                    self.to_no(other)

    def chain_ends(self, row: Row, guards: Iterable[object], complete: bool) -> bool:
        bindings: list[dict[str, Row]] = [{row.stream: row}]
        for guard in guards:
            column = None
            if isinstance(guard.step, Passed):
                (column,) = list(self.graph.attributes(guard.stream, {self.graph.classes[guard.step.column]}))[:1]
            if not all(self.step_is_over(binding[guard.stream], guard.step, column) for binding in bindings):
                return False
            bindings = [
                {**binding, guard.target: other}
                for binding in bindings
                for other in self.stored(guard.target)
                if all(self.agree(one, other) for one in binding.values())
            ]
            if not bindings:
                return True
        return complete

    def no_more_parents(self, row: Row, evidence: Iterable[tuple[Evidence, ...]]) -> bool:
        return all(any(self.proves(row, one) for one in choice) for choice in evidence)

    def proves(self, row: Row, evidence: Evidence) -> bool:
        match evidence:
            case ParentsOverdue(_, step, column):
                return self.step_is_over(row, step, column)
            case ParentsClosed(parent, clustered, columns):
                value = [row.values[name] for name in columns]
                rows = [event for event in self.past if event.stream == parent]
                values = [[event.values[name] for name in clustered.columns] for event in rows]
                if value not in values:
                    return False
                first = values.index(value)
                if isinstance(clustered.within, RowCount):
                    return sum(other != value for other in values[first:]) > clustered.within.n
                return self.past[-1].at > rows[first].at + clustered.within.microseconds

    def step_is_over(self, row: Row, step: After | Lapse | Passed, column: str | None) -> bool:
        if not isinstance(step, Passed):
            return is_over(self.query, [step], self.past, row)
        assert column is not None
        return row.values[column] < self.lowest_to_come(step)

    def lowest_to_come(self, step: Passed) -> float:
        rows = [event for event in self.past if event.stream == step.column.stream]
        if isinstance(step.within, RowCount):
            old = rows[: max(0, len(rows) - step.within.n)]
        else:
            old = [event for event in rows if event.at + step.within.microseconds < self.past[-1].at]
        return max((event.values[step.column.name] for event in old), default=float("-inf"))
