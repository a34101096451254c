"""Proofs: what is claimed, by which rule, on which declarations, from which other claims. `--explain` prints them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Proof:
    """A claim in the user's words; the rule is the theory's."""

    claim: str
    rule: str = ""
    leans_on: tuple[str, ...] = ()
    parts: tuple[Proof, ...] = ()

    @property
    def declarations(self) -> tuple[str, ...]:
        """All declarations that the claim leans on, each once."""
        return tuple(dict.fromkeys(self._declarations()))

    def _declarations(self) -> Iterator[str]:
        yield from self.leans_on
        for part in self.parts:
            yield from part._declarations()

    def lines(self) -> list[str]:
        """The proof as a tree.

        >>> print("\\n".join(Proof("a group ends", "theorem 3", ("bid: PUNCTUATED BY (auction)",)).lines()))
        a group ends
        ├─ by theorem 3
        └─ given bid: PUNCTUATED BY (auction)
        """
        below = [[f"by {self.rule}"]] if self.rule else []
        below += [[f"given {declaration}"] for declaration in self.leans_on]
        below += [part.lines() for part in self.parts]
        lines = [self.claim]
        for number, block in enumerate(below, start=1):
            first, rest = ("├─ ", "│  ") if number < len(below) else ("└─ ", "   ")
            lines += [first + block[0], *(rest + line for line in block[1:])]
        return lines
