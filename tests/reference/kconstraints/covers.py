"""Minimal covers of a join graph: the smallest sets of streams from which all others are reached (6.2).

New results come only when a row enters the Yes component of a stream of a minimal cover (theorem 6.3.3), and a stream
that covers the graph alone needs no Yes component (theorem 6.3.5). In the graph of strong components the sources must
be entered somewhere, and one entrance each is enough: a minimal cover is one stream of each source component. A
directed tree or acyclic graph so has one minimal cover, its roots (theorem 6.3.4).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from penstock.closing.kconstraints.join_graph import JoinGraph
from tests.reference.kconstraints.shapes import strong_components


@dataclass(frozen=True, slots=True)
class MinCovers:
    """MinCover(G(Q)), as the choices that make it: a minimal cover takes one stream of each."""

    choices: tuple[tuple[str, ...], ...]

    def __iter__(self) -> Iterator[frozenset[str]]:
        """All of them; there may be exponentially many."""
        return (frozenset(cover) for cover in product(*self.choices))

    def __contains__(self, cover: frozenset[str]) -> bool:
        return len(cover) == len(self.choices) and all(any(name in cover for name in one) for one in self.choices)

    def members(self) -> frozenset[str]:
        """The streams of some minimal cover: those whose rows can bring a result about (theorem 6.3.3)."""
        return frozenset(name for choice in self.choices for name in choice)

    def alone(self, stream: str) -> bool:
        """Whether the stream is a minimal cover by itself."""
        return len(self.choices) == 1 and stream in self.choices[0]

    def within(self, streams: frozenset[str]) -> frozenset[str] | None:
        """A minimal cover that consists of some of these streams, or None."""
        chosen = [next((name for name in choice if name in streams), None) for choice in self.choices]
        return None if None in chosen else frozenset(name for name in chosen if name is not None)


def min_covers(graph: JoinGraph) -> MinCovers:
    """The minimal covers of a graph.

    >>> from penstock.closing.kconstraints.join_graph import join_graph
    >>> from penstock.closing.join_predicates import JoinAttribute, JoinEquality
    >>> from penstock.closing.kconstraints.streams import ConstrainedJoin, ConstrainedStream
    >>> key = (frozenset({"a"}),)
    >>> streams = ConstrainedStream("s1", ("a",)), ConstrainedStream("s2", ("a",)), ConstrainedStream("s3", ("a",), key)
    >>> joins = tuple(JoinEquality(JoinAttribute(parent, "a"), JoinAttribute("s3", "a")) for parent in ("s1", "s2"))
    >>> [sorted(cover) for cover in min_covers(join_graph(ConstrainedJoin(streams, joins)))]
    [['s1', 's2']]
    """
    components = strong_components(graph.names, graph.children)
    sources = [part for part in components if all(parent in part for name in part for parent in graph.parents[name])]
    inside = {name: position for position, part in enumerate(sources) for name in part}
    choices: dict[int, list[str]] = {}
    for name in graph.names:
        if name in inside:
            choices.setdefault(inside[name], []).append(name)
    return MinCovers(tuple(tuple(choice) for choice in choices.values()))
