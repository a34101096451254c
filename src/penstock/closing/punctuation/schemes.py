"""Punctuation schemes and their punctuations (004, section 2.3), with order on one attribute added.

A scheme says which punctuations a stream may have: those that name a value of each punctuable attribute, the paper's
`+`. A watermark is a punctuation as well: no more rows up to a time. Both are one scheme here.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scheme:
    """For any values of `attributes`, a punctuation of `stream` arrives eventually: no more rows have them.

    With `order` it says less: no more rows have them and an `order` up to some value, for any such value. So
    `Scheme("bid", ("auction",))` closes auctions, `Scheme("bid", (), order="ts")` is a watermark, and
    `Scheme("category", ())` ends the stream: a static table. With a lifespan, a punctuation holds that long only.

    >>> print(Scheme("bid", ("auction",)), Scheme("bid", (), order="ts"))
    bid(auction) bid(ts up to)
    """

    stream: str
    attributes: tuple[str, ...]
    order: str | None = None
    lifespan: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", tuple(sorted(set(self.attributes))))
        if self.order in self.attributes:
            raise ValueError(f"{self.order} is either punctuated by value or by order")
        if self.lifespan is not None and self.lifespan <= 0:
            raise ValueError("a punctuation holds for some time")

    def __str__(self) -> str:
        parts = [*self.attributes, *([f"{self.order} up to"] if self.order else [])]
        return f"{self.stream}({', '.join(parts)})"


@dataclass(frozen=True, slots=True)
class Punctuation:
    """No more rows of the scheme's stream have these values, one for each attribute, and an order of at most `upto`."""

    scheme: Scheme
    values: tuple[Hashable, ...]
    upto: int | None = None

    def __post_init__(self) -> None:
        if len(self.values) != len(self.scheme.attributes) or (self.upto is None) != (self.scheme.order is None):
            raise ValueError(f"no punctuation of the scheme {self.scheme}")

    def __str__(self) -> str:
        parts = [f"{name} = {value!r}" for name, value in zip(self.scheme.attributes, self.values, strict=True)]
        if self.upto is not None:
            parts.append(f"{self.scheme.order} <= {self.upto}")
        return f"{self.scheme.stream}({', '.join(parts)})"
