"""The page over HTTP. It gives a fixed set of files, one document and what is new in it, and takes settings.

Whoever has the address, with its token, may look and set; nobody else, and no other page in the same browser: the
host has to be the one that was bound (DNS rebinding), and requests come from the page itself. It reads no files by
name, runs nothing that it is given, and refuses requests that are large before it reads them.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, MutableMapping, Sequence
from ipaddress import ip_address
from secrets import compare_digest
from typing import Any
from weakref import WeakSet

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from penstock.errors import PenstockError
from penstock.masking import masked
from penstock.monitor.page.assets import asset, linked_page, media_type
from penstock.monitor.page.recorder import Recorder

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

#: A request to set something is no larger than this.
MOST_BYTES = 4096
#: So many pages may follow a run at once.
MOST_READERS = 16
_SECONDS_BETWEEN = 0.25
#: A comment is sent that often, so that the connection of a page that has gone is noticed.
_SECONDS_OF_SILENCE = 10.0

_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


def page_app(
    current: Callable[[], Recorder],
    token: str,
    hosts: Iterable[str] | None,
    is_closing: Callable[[], bool] = lambda: False,
) -> App:
    """Returns the application. `current` gives the run to show; `hosts` are allowed as Host, None allows addresses."""
    pages = _Pages(current, is_closing)
    routes = [
        Route("/", pages.page),
        Route("/static/{name:path}", pages.static),
        Route("/document", pages.document),
        Route("/events", pages.events),
        Route("/settings", pages.settings, methods=["POST"]),
        Route("/graphs", pages.graphs, methods=["POST"]),
    ]
    return _Guard(Starlette(routes=routes), token, None if hosts is None else frozenset(hosts))


class _Pages:
    """What each address gives."""

    def __init__(self, current: Callable[[], Recorder], is_closing: Callable[[], bool]) -> None:
        self._current, self._is_closing = current, is_closing
        #: A seat is free when what was sent to it is forgotten, however that came about.
        self._seats: WeakSet[_Seat] = WeakSet()

    async def page(self, _: Request) -> Response:
        text, policy = linked_page()
        policy = f"{policy}; frame-ancestors 'none'"
        return Response(text, media_type="text/html", headers={"content-security-policy": policy})

    async def static(self, request: Request) -> Response:
        name = request.path_params["name"]
        text = asset(name) if name != "index.html" else None
        return (
            Response(text, media_type=media_type(name)) if text is not None else _refusal(404, "there is no such file")
        )

    async def document(self, _: Request) -> Response:
        found = await asyncio.to_thread(lambda: json.dumps(self._current().document()))
        return Response(found, media_type="application/json")

    async def events(self, request: Request) -> Response:
        if len(self._seats) >= MOST_READERS:
            return _refusal(503, f"{MOST_READERS} pages follow this run already")
        try:
            epoch, frames = (int(request.query_params.get(name, "0")) for name in ("epoch", "frames"))
        except ValueError:
            return _refusal(400, "epoch and frames are numbers")
        seat = _Seat()
        self._seats.add(seat)
        run = request.query_params.get("run", "")
        return StreamingResponse(self._news(run, epoch, frames, seat), media_type="text/event-stream")

    async def _news(self, run: str, epoch: int, frames: int, _: _Seat) -> AsyncIterator[str]:
        """Yields what is new of a run. A reader that is slow is asked less often, and then gets all of it at once."""
        recorder, version, silent = self._current(), -1, 0.0
        while True:
            if self._current() is not recorder or recorder.key != run:
                yield "event: anew\ndata: {}\n\n"
                return
            if recorder.version != version:
                version, silent = recorder.version, 0.0
                news = recorder.since(epoch, frames)
                if news is None:
                    yield "event: anew\ndata: {}\n\n"
                    return
                frames += len(news["frames"])
                yield f"data: {json.dumps(news, separators=(',', ':'))}\n\n"
            if not recorder.is_live and recorder.version == version:
                yield "event: over\ndata: {}\n\n"
                return
            if self._is_closing():
                return
            if silent >= _SECONDS_OF_SILENCE:
                silent = 0.0
                yield ": still here\n\n"
            await asyncio.sleep(_SECONDS_BETWEEN)
            silent += _SECONDS_BETWEEN

    async def settings(self, request: Request) -> Response:
        """Takes a setting for the next step."""
        given = await _posted(request, ("name", "value"))
        if isinstance(given, Response):
            return given
        recorder = self._current()
        if recorder.controls is None or not recorder.is_live:
            return _refusal(409, "the run is over, or takes no settings")
        try:
            recorder.controls.set(given["name"], given["value"])
        except PenstockError as error:
            return _refused_by(error)
        return JSONResponse({"settings": recorder.settings()})

    async def graphs(self, request: Request) -> Response:
        """Adds a query over `sysstream` that is drawn from the next step on, or removes one."""
        given = await _posted(request, ("do", "text"))
        if isinstance(given, Response):
            return given
        recorder = self._current()
        if not recorder.is_live:
            return _refusal(409, "the run is over: there is nothing to ask it")
        if given["do"] not in ("add", "remove"):
            return _refusal(400, "a query is added or removed")
        change = recorder.graphs.add if given["do"] == "add" else recorder.graphs.remove
        try:
            await asyncio.to_thread(change, given["text"])
        except PenstockError as error:
            return _refused_by(error)
        return JSONResponse({})


async def _posted(request: Request, names: Sequence[str]) -> dict[str, str] | Response:
    """Returns the texts that a request has under these names, or a refusal."""
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        return _refusal(415, "requests are JSON")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            return _refusal(413, "the request is too large")
    try:
        given = json.loads(body)
        return {name: str(given[name]) for name in names}
    except (ValueError, KeyError, TypeError):
        return _refusal(400, f"write a JSON object with {' and '.join(names)}")


def _refused_by(error: PenstockError) -> Response:
    return _refusal(422, f"{error.message}{f': {error.hint}' if error.hint else ''}")


class _Seat:
    """The place of a page that follows a run."""


class _Guard:
    """Refuses all that does not come from the page itself, before anything is read."""

    def __init__(self, app: App, token: str, hosts: frozenset[str] | None) -> None:
        self._app, self._token, self._hosts = app, token, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        refused = self._refused(scope)
        if refused is not None:
            await refused(scope, receive, _with_headers(send))
            return
        inner = {**scope, "path": _inside(scope["path"])[1], "root_path": ""}
        await self._app(inner, receive, _with_headers(send))

    def _refused(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not self._is_ours(host):
            return _refusal(421, "this is not the address of the page")
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return _refusal(405, "only GET and POST")
        token, _ = _inside(scope["path"])
        if not compare_digest(token.encode(), self._token.encode()):
            return _refusal(403, "the address lacks the token that penstock printed")
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        is_post = scope["method"] == "POST"
        if (origin is not None or is_post) and origin != f"http://{host}":
            return _refusal(403, "requests of other pages are refused")
        if site not in (None, "none", "same-origin") or (site == "none" and is_post):
            return _refusal(403, "requests of other pages are refused")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > MOST_BYTES:
            return _refusal(413, "the request is too large")
        return None

    def _is_ours(self, host: str) -> bool:
        return host.lower() in self._hosts if self._hosts is not None else _is_address(host)


def _inside(path: str) -> tuple[str, str]:
    """Returns the token at the head of a path, and the rest.

    >>> _inside("/abc/static/main.js"), _inside("/abc")
    (('abc', '/static/main.js'), ('abc', '/'))
    """
    token, _, rest = path.lstrip("/").partition("/")
    return token, f"/{rest}"


def _is_address(host: str) -> bool:
    """Returns whether a host is a number or this machine's name, which no other page can make its own.

    >>> _is_address("192.168.0.7:8080"), _is_address("[::1]:8080"), _is_address("evil.example:8080")
    (True, True, False)
    """
    name = host.partition("]")[0].lstrip("[") if host.startswith("[") else host.partition(":")[0]
    try:
        ip_address(name)
    except ValueError:
        return name.lower() in {"localhost", socket.gethostname().lower()}
    return True


def _refusal(status: int, why: str) -> Response:
    return PlainTextResponse(f"{masked(why)}\n", status)


def _with_headers(send: Send) -> Send:
    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            own = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
            message = {**message, "headers": [*message.get("headers", []), *own]}
        await send(message)

    return sending
