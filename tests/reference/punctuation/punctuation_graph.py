"""The punctuation graph and the generalized one (004, definitions 7 and 8), to draw and to compare with the paper.

The theory itself chains over classes (`forward_chaining.py`). Definition 11's transformed graph is not built: its step
(ii) asks for a virtual node as source, and so misses a scheme whose several attributes all join one plain stream; and
it tells safety only, not which state is purgeable.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from penstock.closing.punctuation.forward_chaining import rules_of
from penstock.closing.punctuation.join_classes import join_classes
from penstock.closing.punctuation.query import PunctuatedJoin
from penstock.closing.punctuation.schemes import Scheme


@dataclass(frozen=True, slots=True)
class PunctuationEdge:
    """The scheme's stream is reached from rows that have, for each punctuable attribute, one of these streams.

    A plain edge has one attribute: from each of its streams there is an arrow. With several it is generalized: one
    stream for each attribute has to be reached, and any will do (definition 8 reads as if there were only one).
    """

    scheme: Scheme
    sources: tuple[frozenset[str], ...]

    @property
    def target(self) -> str:
        return self.scheme.stream

    @property
    def generalized(self) -> bool:
        return len(self.sources) > 1


@dataclass(frozen=True, slots=True)
class PunctuationGraph:
    streams: tuple[str, ...]
    edges: tuple[PunctuationEdge, ...]

    @property
    def arrows(self) -> frozenset[tuple[str, str]]:
        """The plain punctuation graph of definition 7, of closed predicates."""
        plain = [edge for edge in self.edges if not edge.generalized]
        return frozenset((source, edge.target) for edge in plain for sources in edge.sources for source in sources)


def punctuation_graph(query: PunctuatedJoin, schemes: Iterable[Scheme]) -> PunctuationGraph:
    """The graph of the schemes that punctuate by value; one with an attribute that joins no other stream has no edge.

    >>> from penstock.closing.join_predicates import JoinAttribute, JoinEquality
    >>> from penstock.closing.punctuation.query import PunctuatedStream
    >>> streams = PunctuatedStream("s1", ("b",)), PunctuatedStream("s2", ("b", "c")), PunctuatedStream("s3", ("c",))
    >>> on_b = JoinEquality(JoinAttribute("s1", "b"), JoinAttribute("s2", "b"))
    >>> on_c = JoinEquality(JoinAttribute("s2", "c"), JoinAttribute("s3", "c"))
    >>> schemes = [Scheme("s2", ("b",)), Scheme("s2", ("b", "c"))]
    >>> graph = punctuation_graph(PunctuatedJoin(streams, (on_b, on_c)), schemes)
    >>> sorted(graph.arrows)
    [('s1', 's2')]
    >>> [sorted(sources) for sources in graph.edges[1].sources]
    [['s1'], ['s3']]
    """
    classes = join_classes(query)
    edges = []
    for rule in rules_of(classes, schemes).rules:
        if rule.order is None and rule.needs:
            partners = [
                {at.stream for at in classes.members[need]} - {rule.scheme.stream} for need in sorted(rule.needs)
            ]
            if all(partners):
                edges.append(PunctuationEdge(rule.scheme, tuple(map(frozenset, partners))))
    return PunctuationGraph(query.names, tuple(edges))
