"""What is known of the times of rows: a difference-bound matrix with congruences, closed at all times.

The matrix holds for each pair of rows the most that one may be after the other, as shortest paths make it; over whole
numbers that decides differences. Congruences are closed by chaining and by the Chinese remainder theorem, and round
bounds down. What is derived by more than adding bounds is logged, as steps of a proof.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import gcd, inf, lcm

from penstock.effort import spend
from penstock.elimination.constraints import ORIGIN, AtMost, Congruent, TimeCondition
from penstock.elimination.proofs import Chained, Combined, Rounded, Step

#: A modulus and a residue; the modulus 0 says that a difference is fixed.
Class = tuple[int, int]


class Times:
    """Times of rows and what is known of them. `log` has the steps since it was last emptied."""

    __slots__ = ("bounds", "classes", "is_contradictory", "log", "names", "numbers")

    def __init__(self) -> None:
        self.names = [ORIGIN]
        self.numbers = {ORIGIN: 0}
        self.bounds: list[list[float]] = [[0]]
        #: The congruence of each pair of rows, both ways round, where one is known.
        self.classes: dict[tuple[int, int], Class] = {}
        self.is_contradictory = False
        self.log: list[Step] = []

    def copy(self) -> Times:
        other = Times()
        other.names, other.numbers = list(self.names), dict(self.numbers)
        other.bounds = [list(row) for row in self.bounds]
        other.classes = dict(self.classes)
        other.is_contradictory = self.is_contradictory
        other.log = list(self.log)
        return other

    def add_row(self, name: str) -> None:
        """A row at some time, from 0 on."""
        number = len(self.names)
        self.names.append(name)
        self.numbers[name] = number
        for row in self.bounds:
            row.append(row[0])  # no later than the origin's bound: the new time is at least 0
        self.bounds.append([inf] * number + [0])

    def add(self, condition: TimeCondition) -> None:
        if self.is_contradictory:
            return
        if isinstance(condition, AtMost):
            self._add_bound(self.numbers[condition.later], self.numbers[condition.earlier], condition.most)
        else:
            pair = self.numbers[condition.left], self.numbers[condition.right]
            self._add_class(*pair, (condition.modulus, condition.residue))
        if self.classes and not self.is_contradictory:
            self._close_classes()

    def implies(self, condition: TimeCondition) -> bool:
        """Whether what is known implies a condition."""
        if isinstance(condition, AtMost):
            bound = self.bounds[self.numbers[condition.later]][self.numbers[condition.earlier]]
            return bound <= condition.most
        known = self._class(self.numbers[condition.left], self.numbers[condition.right])
        if known is None:
            return condition.modulus == 1
        return known[0] % condition.modulus == 0 and known[1] % condition.modulus == condition.residue

    def solution(self, spread: int) -> dict[str, int] | None:
        """Times that satisfy all that is known, as far apart as may be; None where congruences leave none in sight.

        A closed matrix can be satisfied row by row, without ever going back.
        """
        # Rows with congruences come first: the others find a time between any two.
        with_class = {number for pair in self.classes for number in pair}
        order = sorted(range(1, len(self.names)), key=lambda number: number not in with_class)
        chosen = {0: 0}
        for number in order:
            spend(number)
            least = max(value - self.bounds[other][number] for other, value in chosen.items())
            most = min(value + self.bounds[number][other] for other, value in chosen.items())
            value = self._choose(number, chosen, int(least), most, spread)
            if value is None:
                return None
            chosen[number] = value
        return {self.names[number]: value for number, value in chosen.items()}

    def open_difference(self) -> AtMost | None:
        """A condition that halves the narrowest difference which is not fixed, if there is one with two ends."""
        best: tuple[float, AtMost] | None = None
        for (i, j), (modulus, _) in self.classes.items():
            width = self.bounds[i][j] + self.bounds[j][i]
            if modulus and 0 < width < inf and (best is None or width < best[0]):
                least = -int(self.bounds[j][i])
                best = width, AtMost(self.names[i], self.names[j], least + int(width - 1) // 2)
        for i, row in enumerate(self.bounds):
            for j, bound in enumerate(row):
                width = bound + self.bounds[j][i]
                if 0 < width < inf and (best is None or width < best[0]):
                    best = width, AtMost(self.names[i], self.names[j], -int(self.bounds[j][i]) + int(width - 1) // 2)
        return best and best[1]

    def _choose(self, number: int, chosen: Mapping[int, int], least: int, most: float, spread: int) -> int | None:
        residue: Class | None = (1, 0)
        for other, value in chosen.items():
            known = self.classes.get((number, other))
            if known is not None and known[0] > 1:
                residue = residue and _combined(residue, (known[0], (known[1] + value) % known[0]))
        if residue is None:
            return None
        if most == inf:
            start = max(least, *chosen.values()) + spread
            return start + (residue[1] - start) % residue[0]
        value = int(most) - (int(most) - residue[1]) % residue[0]
        return value if value >= least else None

    def _add_bound(self, i: int, j: int, most: float) -> None:
        """Adds an edge to a closed matrix, and closes it again: all shortest paths that use it do so once."""
        bounds = self.bounds
        if self.is_contradictory or most >= bounds[i][j]:
            return
        if most + bounds[j][i] < 0:
            self.is_contradictory = True
            return
        spend(len(bounds))
        from_j = bounds[j]
        for row in bounds:
            through = row[i] + most
            if through < inf:
                for b, onward in enumerate(from_j):
                    row[b] = min(row[b], through + onward)

    def _class(self, i: int, j: int) -> Class | None:
        if i == j:
            return 0, 0
        if self.bounds[i][j] == -self.bounds[j][i]:
            return 0, int(self.bounds[i][j])
        return self.classes.get((i, j))

    def _add_class(self, i: int, j: int, new: Class) -> bool:
        """Adds a congruence of two rows, and says whether it is news."""
        if new[0] == 1:
            return False
        if i == j:
            self.is_contradictory |= new[1] % new[0] != 0
            return False
        known = self.classes.get((i, j))
        if known is None:
            both: Class | None = new
        else:
            both = _combined(known, new)
            if both is None:
                self.is_contradictory = True
                return False
            if both == known:
                return False
            if both != new:
                self.log.append(Combined(*(self._congruent(i, j, each) for each in (both, known, new))))
        assert both is not None
        self.classes[i, j], self.classes[j, i] = both, (both[0], -both[1] % both[0])
        return True

    def _congruent(self, i: int, j: int, known: Class) -> Congruent:
        return Congruent(self.names[i], self.names[j], known[0], known[1] % known[0])

    def _close_classes(self) -> None:
        """Chains congruences and rounds bounds until nothing changes."""
        changed = True
        while changed:
            changed = False
            for i, j, via, new in list(self._chains()):
                known = self.classes.get((i, j))
                if known is not None and known[0] % new[0] == 0 and (known[1] - new[1]) % new[0] == 0:
                    continue
                self.log.append(Chained(self._congruent(i, j, new), self.names[via]))
                changed |= self._add_class(i, j, new)
            for (i, j), known in list(self.classes.items()):
                bound = self.bounds[i][j]
                if bound < inf and (bound - known[1]) % known[0]:
                    rounded = int(bound) - (int(bound) - known[1]) % known[0]
                    congruence = self._congruent(i, j, known)
                    self.log.append(Rounded(AtMost(self.names[i], self.names[j], rounded), congruence))
                    self._add_bound(i, j, rounded)
                    changed = not self.is_contradictory

    def _chains(self) -> Iterator[tuple[int, int, int, Class]]:
        """What follows of pairs of congruences and fixed differences, one of which is a congruence."""
        everything = range(len(self.names))
        for (i, via), (modulus, residue) in list(self.classes.items()):
            spend(len(self.names))
            for j in everything:
                onward = self._class(via, j) if j not in (i, via) else None
                if onward is not None and gcd(modulus, onward[0]) > 1:
                    both = gcd(modulus, onward[0])
                    yield i, j, via, (both, (residue + onward[1]) % both)


def _combined(one: Class, other: Class) -> Class | None:
    """The congruence that says both, by the Chinese remainder theorem; None if they exclude each other.

    >>> _combined((4, 1), (6, 3)), _combined((4, 1), (6, 2))
    ((12, 9), None)
    """
    (m, a), (n, b) = one, other
    divisor = gcd(m, n)
    if (b - a) % divisor:
        return None
    both = lcm(m, n)
    step = (b - a) // divisor * pow(m // divisor, -1, n // divisor) if n // divisor > 1 else 0
    return both, (a + m * step) % both


def satisfied(condition: TimeCondition, times: Mapping[str, int], names: Mapping[str, str]) -> bool:
    """Whether a condition is true at given times, of the rows that its variables stand for."""
    if isinstance(condition, AtMost):
        one, other = condition.later, condition.earlier
        return times[names.get(one, one)] - times[names.get(other, other)] <= condition.most
    one, other = condition.left, condition.right
    return (times[names.get(one, one)] - times[names.get(other, other)]) % condition.modulus == condition.residue
