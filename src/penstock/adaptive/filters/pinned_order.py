"""An order of filters that is pinned: nothing is profiled, and nothing changes it."""

from __future__ import annotations

from penstock.operators.filters.profile import FilterOrder, OrderedFilters, ProfileRequest


class PinnedOrder:
    """Gives a chain one order, and keeps it."""

    def __init__(self, filters: tuple[str, ...], order: FilterOrder | None = None) -> None:
        """Without an order it is the one in which filters are written."""
        self.filters = filters
        self._order = order or tuple(range(len(filters)))

    def adopt(self, chain: OrderedFilters) -> None:
        chain.use(self._order, ProfileRequest())

    def between(self, chain: OrderedFilters) -> None:
        pass
