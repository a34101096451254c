"""Serving a page beside a query: a thread of this process, on this machine only unless an address is given.

The socket is bound before the query starts, so that a port that is taken fails early. starlette and uvicorn come with
the extra `penstock[ui]`.
"""

from __future__ import annotations

import socket
from ipaddress import ip_address
from secrets import token_urlsafe
from threading import Thread
from typing import TYPE_CHECKING, Self

from penstock.errors import PenstockError
from penstock.monitor.page.address import LOOPBACK, require_extra
from penstock.monitor.page.plan_document import SCHEMA
from penstock.monitor.page.recorder import Recorder

if TYPE_CHECKING:
    import uvicorn

#: Connections at most, and how long one may be idle between two requests, or while the server ends.
_MOST_CONNECTIONS = 64
_SECONDS_IDLE = 5
_SECONDS_TO_END = 2
#: The first line and headers of a request are no longer than this.
_MOST_HEAD = 16_384


#: What is shown before the first run.
NOTHING = {"schema": SCHEMA, "title": "nothing has run yet", "texts": [], "queries": [], "nodes": [], "edges": []}


class PageServer:
    """The page of one run after another, at one address."""

    def __init__(self, host: str = LOOPBACK, port: int = 0) -> None:
        require_extra()
        self._recorder = Recorder(NOTHING, is_live=True)
        self._token = token_urlsafe(18)
        self._socket = _bound(host, port)
        self._host, self._port = host, self._socket.getsockname()[1]
        self._is_closing = False
        self._server: uvicorn.Server | None = None
        self._thread: Thread | None = None

    @property
    def address(self) -> str:
        """Returns the address with its token: who has it may look, and set what can be set."""
        wildcard = ip_address(self._host).is_unspecified
        host = socket.gethostname() if wildcard else f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._port}/{self._token}/"

    def show(self, recorder: Recorder) -> None:
        """Shows a run from now on."""
        self._recorder = recorder

    def start(self) -> Self:
        """Starts to serve, and returns at once."""
        if self._thread is not None:
            return self
        import uvicorn  # noqa: PLC0415 - it is an extra

        from penstock.monitor.page.server import page_app  # noqa: PLC0415 - so is starlette

        config = uvicorn.Config(
            page_app(lambda: self._recorder, self._token, self._hosts(), lambda: self._is_closing),
            log_config=None,
            log_level="critical",  # standard error is the run's
            access_log=False,
            lifespan="off",
            ws="none",
            http="h11",
            server_header=False,
            limit_concurrency=_MOST_CONNECTIONS,
            timeout_keep_alive=_SECONDS_IDLE,
            timeout_graceful_shutdown=_SECONDS_TO_END,
            h11_max_incomplete_event_size=_MOST_HEAD,
        )
        self._server = uvicorn.Server(config)
        self._thread = Thread(target=self._server.run, args=([self._socket],), name="penstock-page", daemon=True)
        self._thread.start()
        return self

    def _hosts(self) -> list[str] | None:
        if ip_address(self._host).is_unspecified:
            return None
        names = [f"[{self._host}]" if ":" in self._host else self._host]
        names += ["localhost"] if ip_address(self._host).is_loopback else []
        return [f"{name}:{self._port}" for name in names]

    @property
    def is_closed(self) -> bool:
        """Returns whether the page has ended."""
        return self._socket.fileno() < 0

    def close(self) -> None:
        """Ends the server. Pages that follow are given what came last, and stay as they are."""
        self._is_closing = True
        if self._thread is not None and self._server is not None:
            self._server.should_exit = True
            self._thread.join(_SECONDS_TO_END + 3)
        self._socket.close()

    def __enter__(self) -> Self:
        return self.start()

    def __repr__(self) -> str:
        return f"<page {self.address}>"

    def __exit__(self, *_: object) -> None:
        self.close()


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_MOST_CONNECTIONS)
    except OSError as error:
        said = (error.strerror or str(error)).lower()
        raise PenstockError(f"no page at {host}:{port}: {said}", "choose another port, or --ui without one") from error
