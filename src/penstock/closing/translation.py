"""Whether the theory finds an end: a relation ends if its block does, and a computed operand if its relation does."""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterator, Mapping
from copy import copy
from dataclasses import replace
from functools import cached_property

from penstock.algebra.expressions import Expr
from penstock.algebra.relations import (
    Aggregate,
    AntiJoin,
    Distinct,
    Project,
    Range,
    Relation,
    Repeat,
    Select,
    SetOp,
    Unbounded,
    Window,
)
from penstock.catalog import Catalog, Reference, StreamDef
from penstock.closing.asked import ASKED, NOTHING, Asked, AskedBlock
from penstock.closing.blocks import Block, Operand, flat_block
from penstock.closing.bounds import NONE, Bound, BoundKind, badness
from penstock.closing.contents import is_static
from penstock.closing.endings import Ending, both
from penstock.closing.monotone_buckets import closable
from penstock.closing.punctuation import AtMost, ChainStep, JoinAttribute, Purgeable, Scheme
from penstock.closing.punctuation.forward_chaining import Reach, SchemeRule, SchemeRules, combined, reach, rules_of
from penstock.closing.punctuation.join_classes import JoinClasses, join_classes
from penstock.closing.punctuation.purgeability import purgeability_by
from penstock.closing.referring import ending_by_reference, side_of
from penstock.closing.scheme_closers import SchemeCloser, arrivals_in, guard, refers, window_closers
from penstock.effort import kept, spend


def ending_of(relation: Relation, asked: Asked, catalog: Catalog) -> Ending | None:
    return kept((ending_of, asked.identity), (relation, catalog), lambda: _ending_of(relation, asked, catalog))


def _ending_of(relation: Relation, asked: Asked, catalog: Catalog) -> Ending | None:
    spend()
    if is_static(relation):
        return Ending((), (), (), by_time=True)
    match relation:
        case Project(below, outputs) | Aggregate(below, outputs):
            return ending_of(below, asked.through({output.column: output.expr for output in outputs}), catalog)
        case Distinct(below) | Repeat(below):
            return ending_of(below, asked, catalog)
        case SetOp():
            return _of_sides(relation, asked, catalog)
        case AntiJoin(left, right, on):
            block = _united(flat_block(left), flat_block(right), on)
            return both((ending_of(left, asked, catalog), _answer(block, asked, catalog)))
        case Select(AntiJoin() | Aggregate() | Distinct() | Repeat() | SetOp() | Project() as below):
            return ending_of(below, asked, catalog)
    return _answer(flat_block(relation), asked, catalog)


def _of_sides(relation: SetOp, asked: Asked, catalog: Catalog) -> Ending | None:
    """Each side has to end by itself, or after punctuations of the other that refer to it."""
    own = [dict(zip(relation.columns, side.schema, strict=True)) for side in relation.inputs]
    found = [
        ending_of(side, replace(asked.through(inside), seen=False), catalog)
        for side, inside in zip(relation.inputs, own, strict=True)
    ]
    one, other = (side_of(side, inside) for side, inside in zip(relation.inputs, own, strict=True))
    if one is not None and other is not None:
        for number, (first, second) in enumerate(((one, other), (other, one))):
            if found[number] is None:
                found[number] = ending_by_reference(first, second, asked.equal, catalog)
    return both(found)


def _answer(block: Block, asked: Asked, catalog: Catalog) -> Ending | None:
    """The theory's answer for a stream that has the asked values."""
    return Translation(block, catalog, asked).ending(ASKED)


def _united(left: Block, right: Block, on: tuple[Expr, ...]) -> Block:
    operands = left.operands + right.operands
    named = tuple(o if o.window else Operand(str(number), o.relation) for number, o in enumerate(operands))
    return Block(named, left.predicates + right.predicates + on)


class Translation:
    """A block as a query of the theory: an operand is a stream, and so is what is asked about, if anything is."""

    def __init__(self, block: Block, catalog: Catalog, asked: Asked = NOTHING) -> None:
        self.question = AskedBlock(block, asked)
        self.catalog = catalog
        self._inputs = {name: (name,) for name in (*(operand.name for operand in block.operands), ASKED)}
        self._known_rules: dict[tuple[int, ...], tuple[tuple[SchemeCloser, ...], SchemeRules]] = {}
        self._known_rule: dict[int, tuple[SchemeCloser, SchemeRule | None]] = {}
        #: Streams that are known to reach all others.
        self._reaching: set[str] = set()
        #: The closers of each operand under the declarations seen so far.
        self._known_closers: dict[Hashable, tuple[SchemeCloser, ...]] = {}
        self._known_guards: dict[Hashable, tuple[SchemeCloser, ...]] = {}

    def under(self, catalog: Catalog) -> Translation:
        """The same predicates under other declarations."""
        assert self._join_classes is not None  # shared from here on
        other = copy(self)
        other.catalog = catalog
        other._known_rules, other._reaching = {}, set()
        for derived in ("closers", "guards", "_ruled", "_all_rules"):
            other.__dict__.pop(derived, None)
        return other

    def reaches_all(self, stream: str) -> bool:
        """Whether `ending` finds one. Who reaches a stream reaches all that it does: forward chaining only adds."""
        rules = self._all_rules
        if rules.classes.solution is None:
            return True
        reached = set(reach(rules, (stream,), self._inputs, stop=self._reaching).streams)
        if len(reached) == len(self._inputs) or reached & self._reaching:
            self._reaching.add(stream)
            return True
        return False

    def farthest(self, some: Container[str | None]) -> str:
        growing = [operand.name for operand in self.question.block.operands if not operand.is_static]
        waiting = [name for name in growing if name in some]
        return min(waiting or growing, key=lambda name: len(reach(self._all_rules, (name,), self._inputs).streams))

    def lacking(self, stream: str, richer: Translation) -> Iterator[frozenset[str]]:
        """Sets of declarations that only a richer catalog has, of each of which a stream needs one to reach all others.

        Let it reach all of them but one by anything: then it needs what leads to that one. There is no such set where
        that one is reached nevertheless, by a part of what leads to it, as in a ring.
        """
        given, further = self._split(richer)
        here = self._reached(stream, given).streams
        for end in (name for name in self._inputs if name not in here):
            others = [rule for name, rules in further.items() if name != end for rule, _ in rules]
            wide = self._reached(stream, given + others)
            if end not in wide.streams:
                yield frozenset(lean for rule, lean in further.get(end, ()) if wide.lets(rule))

    def _reached(self, stream: str, rules: list[SchemeRule]) -> Reach:
        return reach(combined(self._join_classes, rules), (stream,), self._inputs)

    def _split(self, richer: Translation) -> tuple[list[SchemeRule], dict[str, list[tuple[SchemeRule, str]]]]:
        """The rules that are there, and those that a richer catalog has, by the stream that they reach."""
        given = {lean for _, closer in self._ruled for lean in closer.leans_on}
        here: list[SchemeRule] = []
        further: dict[str, list[tuple[SchemeRule, str]]] = {}
        for rule, closer in richer._ruled:
            new = [lean for lean in closer.leans_on if lean not in given]
            if not new:
                here.append(rule)
            else:
                further.setdefault(rule.scheme.stream, []).append((rule, new[0]))
        return here, further

    @cached_property
    def _ruled(self) -> list[tuple[SchemeRule, SchemeCloser]]:
        """All rules, those of RIDS among them: who reaches the stream that refers reaches the other."""
        plain = [(rule, closer) for closer in self.closers if (rule := self._rule(closer)) is not None]
        guards = [(self._rule(closer), child, closer) for child, closer in self.guards]
        return plain + [(replace(rule, after=child), closer) for rule, child, closer in guards if rule is not None]

    @cached_property
    def _all_rules(self) -> SchemeRules:
        return combined(self._join_classes, [rule for rule, _ in self._ruled])

    @cached_property
    def _join_classes(self) -> JoinClasses:
        return join_classes(self.question.join_query())

    def ending(self, stream: str) -> Ending | None:
        """The ending that leaves the least open: by time if that will do, then by k-constraints or punctuations."""
        kinds = {closer.open.kind for closer in self.closers} | ({BoundKind.K} if self.guards else set())
        for worst in sorted(kinds, key=lambda kind: kind.rank):
            some = tuple(closer for closer in self.closers if closer.open.kind.rank <= worst.rank)
            if (found := self._ending_by(stream, some, worst)) is not None:
                return found
        return None

    def _ending_by(self, stream: str, closers: tuple[SchemeCloser, ...], worst: BoundKind) -> Ending | None:
        """Theorem 3 of 004, helped by RIDS: once a stream is reached, so is the one that its rows refer to.

        The rows that a reached stream has for the values in question are all there, and the rows that they refer to
        come within k: after that, the stream referred to has no more that join them.
        """
        guards = self.guards if worst.rank >= BoundKind.K.rank else ()
        while True:
            answer = purgeability_by(self._rules(closers), (stream,), self._inputs)
            if isinstance(answer, Purgeable):
                return self._told(stream, answer, closers)
            helping = [g for g in guards if g[0] in answer.reached and g[1].scheme.stream in answer.unreached]
            if not helping:
                return None
            closers += tuple(closer for _, closer in helping)

    def _rules(self, closers: tuple[SchemeCloser, ...]) -> SchemeRules:
        """The theory's rules, which all operands share."""
        key = tuple(map(id, closers))
        if key not in self._known_rules:
            found = map(self._rule, closers)
            rules = combined(self._join_classes, [rule for rule in found if rule is not None])
            self._known_rules[key] = closers, rules
        return self._known_rules[key][1]

    def _rule(self, closer: SchemeCloser) -> SchemeRule | None:
        if id(closer) not in self._known_rule:
            rule = next(iter(rules_of(self._join_classes, [closer.scheme]).rules), None)
            self._known_rule[id(closer)] = closer, rule  # the closer is kept, so that no other takes its id
        return self._known_rule[id(closer)][1]

    def _told(self, stream: str, answer: Purgeable, closers: tuple[SchemeCloser, ...]) -> Ending:
        if answer.impossible:
            return Ending((), ("no row can ever be part of a result",), (), by_time=True)
        by_scheme = {closer.scheme: closer for closer in reversed(closers)}
        used = [(step, by_scheme[step.scheme]) for step in answer.steps]
        declared = [(step, closer) for step, closer in used if closer.leans_on]
        return Ending(
            tuple(dict.fromkeys(self._open(stream, step, closer) for step, closer in declared)),
            tuple(_step_text(step, closer) for step, closer in declared),
            tuple(dict.fromkeys(lean for _, closer in declared for lean in closer.leans_on)),
            by_time=all(closer.scheme.order is not None for _, closer in declared),
        )

    @cached_property
    def guards(self) -> tuple[tuple[str, SchemeCloser], ...]:
        return tuple(self._guards())

    def _guards(self) -> Iterator[tuple[str, SchemeCloser]]:
        """Streams whose rows refer to rows of another that they join, by RIDS."""
        for operand in self.question.block.operands:
            definition = self.catalog.get(operand.window.stream.name) if operand.window else None
            for reference in definition.constraints if isinstance(definition, StreamDef) else ():
                if isinstance(reference, Reference):
                    key = operand.name, reference
                    if key not in self._known_guards:
                        self._known_guards[key] = tuple(self._referring(operand, reference))
                    yield from ((operand.name, closer) for closer in self._known_guards[key])

    def _referring(self, operand: Operand, reference: Reference) -> Iterator[SchemeCloser]:
        window = operand.window
        definition = self.catalog.get(window.stream.name) if window else None
        assert window is not None
        assert isinstance(definition, StreamDef)
        for target in self._timed.get(reference.parent.lower(), ()):
            if refers(window, target, reference, self.question.leader_of):
                yield guard(operand.name, target, reference, definition)

    @cached_property
    def _timed(self) -> Mapping[str, list[Window]]:
        """The windows that rows leave only in time, by stream."""
        found: dict[str, list[Window]] = {}
        for operand in self.question.block.operands:
            if operand.window and isinstance(operand.window.spec, Unbounded | Range):
                found.setdefault(operand.window.stream.name.lower(), []).append(operand.window)
        return found

    @cached_property
    def closers(self) -> tuple[SchemeCloser, ...]:
        """How the operands' changes end; those that close only seen values, where the values asked about are seen."""
        spend(len(self.question.block.operands))
        found = [closer for operand in self.question.block.operands for closer in self._of_operand(operand)]
        known = (
            {self.question.attribute(column) for column in self.question.seen() if column in self.question.owner}
            if self.question.asked.seen
            else ()
        )
        fitting = [
            closer
            for closer in found
            if not closer.only_seen
            or all(JoinAttribute(closer.scheme.stream, name) in known for name in closer.scheme.attributes)
        ]
        return (SchemeCloser(Scheme(ASKED, ()), NONE), *sorted(fitting, key=lambda closer: badness(closer.open)))

    def _of_operand(self, operand: Operand) -> Iterator[SchemeCloser]:
        if operand.is_static:
            yield SchemeCloser(Scheme(operand.name, ()), NONE)
        elif operand.window is not None:
            definition = self.catalog.get(operand.window.stream.name)
            assert isinstance(definition, StreamDef)
            key = operand.name, definition.delay, definition.constraints
            if key not in self._known_closers:
                self._known_closers[key] = tuple(window_closers(operand.window, operand.name, self.catalog))
            yield from self._known_closers[key]
        else:
            yield from self._computed(operand)

    def _computed(self, operand: Operand) -> Iterator[SchemeCloser]:
        """A computed relation closes on its columns, each alone, or on all that join; on times up to an instant."""
        joining = self.question.joining()
        joined = [column for column in operand.relation.schema if column in joining]
        for column in joined:
            asked = Asked(frozenset(), dict(closable([column])[1]), seen=False)
            found = ending_of(operand.relation, asked, self.catalog) if asked.upto else None
            if found is not None and found.by_time:
                yield SchemeCloser(Scheme(operand.name, (), order=str(column)), found.open, found.leans_on)
        for columns in [[column] for column in joined] + [joined] * (len(joined) > 1):
            plain, buckets = closable(columns)
            found = ending_of(operand.relation, Asked(plain, buckets, seen=False), self.catalog)
            if found is not None:
                yield SchemeCloser(Scheme(operand.name, tuple(map(str, columns))), found.open, found.leans_on)

    def _open(self, stream: str, step: ChainStep, closer: SchemeCloser) -> Bound:
        """What is open until this step is done. A watermark leaves as much as partners may be ahead."""
        if closer.scheme.order is None or closer.open.kind is not BoundKind.WINDOW:
            return closer.open
        limits = [limit for known in step.known if isinstance(known, AtMost) for limit in known.upper]
        ahead = [limit.offset for limit in limits if limit.source is not None and limit.source.stream == stream]
        if not ahead:
            return closer.open
        closed = next(o.window for o in self.question.block.operands if o.name == closer.scheme.stream)
        if closed is not None:
            ahead = [closed.stream.unit.in_instants(offset) for offset in ahead]
        return arrivals_in(
            max(0, min(ahead)) + closer.late, self._label(closer.scheme.stream if stream == ASKED else stream)
        )

    def _label(self, name: str) -> str:
        return next(operand.label for operand in self.question.block.operands if operand.name == name)


def _step_text(step: ChainStep, closer: SchemeCloser) -> str:
    names = ", ".join(step.scheme.attributes) or (step.scheme.order and f"{step.scheme.order} up to a time")
    return f"{names or step.scheme.stream} is closed by {', '.join(closer.leans_on)}"
