"""Streams that follow each other, simulated: bursts, gaps, attacks, boundaries; and exact counts by brute force."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from random import Random

#: A row of a simulated stream: time, the id of what it belongs to, a key that all rows of an id have.
Row = tuple[int, int, int]


@dataclass(frozen=True)
class Flows:
    """Streams t, d and antis; each id is once in t at most, and in the others some time after it."""

    width: int
    shift: int
    delays: tuple[int, ...]
    #: Of each link whether it is an anti-join; d is joined with t, and antis are with the last that is joined.
    antis: tuple[bool, ...]
    streams: tuple[tuple[Row, ...], ...] = field(repr=False)

    def delay_from_root(self, stream: int) -> int:
        """The longest time after its row of t at which a row of a stream comes."""
        joined = [n for n, anti in enumerate(self.antis) if not anti and n <= stream]
        own = [stream] if self.antis[stream] else []
        return sum(self.delays[n] for n in [*joined, *own])

    def exact(self, until: int | None = None) -> Counter[tuple[int, int]]:
        """By key and bucket, how many ids are in all joined streams and in none of the others, up to an instant."""
        there = [{i for ts, i, _ in rows if until is None or ts <= until} for rows in self.streams]
        counts: Counter[tuple[int, int]] = Counter()
        for ts, i, key in self.streams[0]:
            if i in there[0] and all((i in ids) != anti for ids, anti in zip(there[1:], self.antis, strict=True)):
                counts[key, (ts + self.shift) // self.width] += 1
        return counts


def simulated(random: Random, links: int, keys: int = 1, size: int = 200, most_delay: int = 12) -> Flows:
    """Streams of the kinds that make boundaries hard."""
    delays = tuple(random.randint(0, most_delay) for _ in range(links))
    joined = random.randint(0, links)
    antis = tuple(n >= joined for n in range(links))
    width = random.randint(max(1, sum(delays)), 40 + sum(delays))
    lost = [random.choice((0.0, 0.1, 0.5, 0.9)) for _ in range(links)]
    streams: list[list[Row]] = [[] for _ in range(links + 1)]
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
        at = t
        for n in range(links):
            if random.random() < lost[n] or (attack and antis[n]):
                if not antis[n]:
                    break
                continue
            later = at + random.choice((0, delays[n], random.randint(0, delays[n])))
            streams[n + 1].append((later, i, key))
            at = at if antis[n] else later
    return Flows(width, random.randint(0, 50), delays, antis, tuple(tuple(sorted(rows)) for rows in streams))
