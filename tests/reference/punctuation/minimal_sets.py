"""The smallest sets of schemes that make some streams purgeable: a search over what a closed search lacks.

If a stream does not reach all others, then any set of schemes that helps has one whose rule may fire where the search
ended: this is a *conflict*, of which a solution takes at least one scheme. So the solutions are the minimal hitting
sets of conflicts that are found as one goes (Reiter's hitting-set tree), in order of size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from penstock.closing.punctuation.forward_chaining import Reach, SchemeRule, combined, rules_of
from penstock.closing.punctuation.join_classes import JoinClasses
from penstock.closing.punctuation.schemes import Scheme
from tests.reference.punctuation.safety import failures


@dataclass(frozen=True, slots=True)
class SchemeSets:
    """Sets of schemes, none of which holds another; if `all_found`, these are all that there are, smallest first."""

    sets: tuple[tuple[Scheme, ...], ...]
    all_found: bool


def minimal_sets(
    classes: JoinClasses,
    given: Sequence[Scheme],
    candidates: Sequence[Scheme],
    streams: Sequence[str],
    most: int,
    effort: int,
) -> SchemeSets:
    """Up to `most` minimal sets of candidates that, with the schemes given, make `streams` purgeable.

    `effort` bounds the sets looked at. Where that was too little to find one, a set is grown greedily and cut down:
    it is minimal, but there may be smaller ones.
    """
    problem = _Problem(classes, rules_of(classes, given).rules, rules_of(classes, candidates).rules, tuple(streams))
    found: list[frozenset[int]] = []
    level: dict[frozenset[int], None] = {frozenset(): None}
    while level:
        above: dict[frozenset[int], None] = {}
        for chosen in level:
            if any(solution <= chosen for solution in found):
                continue
            if not effort or len(found) == most:
                return problem.named(found or [problem.grown()], all_found=False)
            effort -= 1
            conflict = problem.conflict(chosen)
            if conflict is None:
                found.append(chosen)
            else:
                above.update(dict.fromkeys(chosen | {index} for index in conflict))
        level = above
    return problem.named(found, all_found=True)


@dataclass(frozen=True, slots=True)
class _Problem:
    classes: JoinClasses
    given: tuple[SchemeRule, ...]
    candidates: tuple[SchemeRule, ...]
    streams: tuple[str, ...]

    def conflict(self, chosen: frozenset[int]) -> tuple[int, ...] | None:
        """Candidates of which a solution with those chosen needs one, or None: they are a solution."""
        rules = combined(self.classes, [*self.given, *(self.candidates[index] for index in sorted(chosen))])
        growing = [stream for stream in self.streams if stream not in rules.ended_streams]
        frontiers = (
            tuple(index for index, rule in enumerate(self.candidates) if _helps(rule, stream, reached))
            for stream, reached in islice(failures(rules, growing), _TRIED)
        )
        return min(frontiers, key=len, default=None)

    def grown(self) -> frozenset[int] | None:
        """A minimal solution, not necessarily a smallest one; None if there is none."""
        chosen: frozenset[int] = frozenset()
        while (conflict := self.conflict(chosen)) is not None:
            if not conflict:
                return None
            chosen |= {conflict[0]}
        for index in sorted(chosen):
            if self.conflict(chosen - {index}) is None:
                chosen -= {index}
        return chosen

    def named(self, found: Sequence[frozenset[int] | None], all_found: bool) -> SchemeSets:
        sets = [tuple(self.candidates[index].scheme for index in sorted(each)) for each in found if each is not None]
        return SchemeSets(tuple(sets), all_found)


def _helps(rule: SchemeRule, stream: str, reached: Reach) -> bool:
    """The rule leads on from what the stream reached, or ends the stream itself, so that its state grows no more."""
    target = rule.scheme.stream
    return (target not in reached.streams and reached.lets(rule)) or (rule.ends and target == stream)


#: Streams tried for a small conflict: fewer branches are worth some searches, but not many.
_TRIED = 4
