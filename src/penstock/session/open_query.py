"""Open queries: rows are pushed to them, and what is closed comes out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from penstock.errors import PenstockError
from penstock.session.provided import SourceData, readable

if TYPE_CHECKING:
    from penstock.session.query import Query


class OpenQuery:
    """A query that runs in this process on rows that are pushed: `query.open` returns it, also for a `with` block."""

    def __init__(self, query: Query, run: Any) -> None:
        self._query, self._run = query, run

    @property
    def streams(self) -> list[str]:
        """The streams that it reads."""
        return list(self._run.engine.streams)

    def push(self, stream: str, data: SourceData) -> None:
        """Takes rows of a stream; `session.push` passes them to all open queries."""
        self._require_open()
        self._run.push_all(readable(stream, data))

    def changes(self) -> Iterator[Any]:
        """Works on the rows that wait, and yields Arrow tables of the changes up to now."""
        self._require_open()
        yield from self._told(self._run.changes())

    def finish(self) -> Iterator[Any]:
        """Ends its streams, yields the changes up to the horizon, and closes it."""
        self._require_open()
        yield from self._told(self._run.finish())
        self.close()

    def close(self) -> None:
        """Closes it: it takes no more rows, and drops those that it has."""
        if self in self._query._session._open:
            self._query._session._open.remove(self)
            self._query._controls = None
            self._run.engine.close()
            if self._query._page is not None:
                self._query._page.end()

    def _require_open(self) -> None:
        if self not in self._query._session._open:
            raise PenstockError(f"{self._query.name} is closed", "open it anew, with query.open()")

    def _told(self, blocks: Iterator[Any]) -> Iterator[Any]:
        yield from (block for block in blocks if block.num_rows)
        self._query._stepped(self._run.engine.metrics())

    def __enter__(self) -> OpenQuery:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
