"""The kinds of nodes that there are: the classes below a base, and below what some of them share."""

from __future__ import annotations


def kinds(base: type, room: str) -> set[str]:
    """The names of the kinds of a base that a room has; slots make each class anew, so that it is there twice."""
    found = set[str]()
    for kind in base.__subclasses__():
        if kind.__name__.startswith("_"):
            found |= kinds(kind, room)
        elif kind.__module__.startswith(room):
            found.add(kind.__name__)
    return found
