"""Streams that follow each other, simulated: bursts, gaps, attacks, boundaries; and exact counts by brute force."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from random import Random

#: A row of a simulated stream: time, the id of what it belongs to, a key that all rows of an id have.
Row = tuple[int, int, int]


@dataclass(frozen=True)
class Flows:
    """Streams t, d and antis; each id is once in t at most, and in the others some time after it."""

    width: int
    shift: int
    delays: tuple[int, ...]
    #: Of each link whether it is an anti-join.
    antis: tuple[bool, ...]
    streams: tuple[tuple[Row, ...], ...] = field(repr=False)
    #: Of each link the number of the stream that it hangs from; none: each from the last that is joined before.
    tree: tuple[int, ...] = ()

    def above(self, link: int) -> int:
        """The number of the stream that a link hangs from: 0 is t."""
        if self.tree:
            return self.tree[link]
        return max((n + 1 for n, anti in enumerate(self.antis[:link]) if not anti), default=0)

    def leaves(self) -> list[int]:
        """The joined links that no other joined one hangs from."""
        inner = {self.above(n) for n, anti in enumerate(self.antis) if not anti}
        return [n for n, anti in enumerate(self.antis) if not anti and n + 1 not in inner]

    def delay_from_root(self, link: int) -> int:
        """The longest time after its row of t at which a row of a link's stream comes."""
        above = self.above(link)
        return self.delays[link] + (self.delay_from_root(above - 1) if above else 0)

    def exact(self, until: int | None = None) -> Counter[tuple[int, int]]:
        """By key and bucket, how many ids are in all joined streams and in none of the others, up to an instant."""
        there = [{i for ts, i, _ in rows if until is None or ts <= until} for rows in self.streams]
        counts: Counter[tuple[int, int]] = Counter()
        for ts, i, key in self.streams[0]:
            if i in there[0] and all((i in ids) != anti for ids, anti in zip(there[1:], self.antis, strict=True)):
                counts[key, (ts + self.shift) // self.width] += 1
        return counts


def simulated(
    random: Random, links: int, keys: int = 1, size: int = 200, most_delay: int = 12, branches: bool = False
) -> Flows:
    """Streams of the kinds that make boundaries hard."""
    delays = tuple(random.randint(0, most_delay) for _ in range(links))
    joined = random.randint(0, links)
    antis = tuple(n >= joined for n in range(links))
    tree = tuple(random.randint(0, min(n, joined)) for n in range(links)) if branches else ()
    width = random.randint(max(1, sum(delays)), 40 + sum(delays))
    lost = [random.choice((0.0, 0.1, 0.5, 0.9)) for _ in range(links)]
    streams: list[list[Row]] = [[] for _ in range(links + 1)]
    shape = Flows(width, random.randint(0, 50), delays, antis, (), tree)
    t, attack = 0, 0
    for i in range(size):
        if attack == 0 and random.random() < 0.03:
            attack = random.randint(5, 30)
        attack = max(0, attack - 1)
        t += random.choice((0, 0, 0, 1, 1, 2, 5)) if random.random() < 0.97 else random.randint(0, 5 * width)
        if random.random() < 0.1:
            t = (t // width + 1) * width - random.choice((0, 1, 1, 2))
        key = random.randrange(keys)
        streams[0].append((t, i, key))
        came: dict[int, int] = {0: t}
        for n in range(links):
            above = came.get(shape.above(n))
            if above is None or random.random() < lost[n] or (attack and antis[n]):
                continue
            came[n + 1] = above + random.choice((0, delays[n], random.randint(0, delays[n])))
            streams[n + 1].append((came[n + 1], i, key))
    return replace(shape, streams=tuple(tuple(sorted(rows)) for rows in streams))
