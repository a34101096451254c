"""The server gives the page to whoever has its address, and nothing to anybody else; the query runs on."""

from __future__ import annotations

import http.client
import json
import re
import socket
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.testclient import TestClient

from penstock.errors import PenstockError
from penstock.monitor.page.assets import MODULES, SCRIPTS, STYLES
from penstock.monitor.page.recorder import Recorder
from penstock.monitor.page.server import MOST_BYTES, MOST_READERS, page_app
from penstock.monitor.page.serving import PageServer
from tests.monitor.page.conftest import watched

TOKEN, HOST = "a-token-of-the-test", "127.0.0.1:8080"
HERE = f"/{TOKEN}"
OWN = {"origin": f"http://{HOST}", "content-type": "application/json"}


class Controls:
    """Settings as a run has them."""

    def __init__(self) -> None:
        self.values = {"purge_every": "eager"}

    def __iter__(self) -> Iterator[dict[str, str]]:
        return iter([{"name": n, "type": "ROWS | eager", "value": v, "help": ""} for n, v in self.values.items()])

    def set(self, name: str, value: str) -> None:
        if name not in self.values:
            raise PenstockError(f"there is no setting {name}", "there is purge_every")
        self.values[name] = value


@pytest.fixture
def running() -> Recorder:
    found = watched().recorder
    found.controls = Controls()
    return found


@pytest.fixture
def client(running: Recorder) -> TestClient:
    return TestClient(page_app(lambda: running, TOKEN, [HOST]), base_url=f"http://{HOST}")


def test_the_page_and_its_files_are_served_with_a_strict_policy(client: TestClient) -> None:
    page = client.get(f"{HERE}/")
    assert page.status_code == 200
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http:" not in policy
    assert page.headers["x-frame-options"] == "DENY"
    assert page.headers["referrer-policy"] == "no-referrer"
    for name in (*MODULES, *SCRIPTS, *STYLES):
        assert client.get(f"{HERE}/static/{name}").status_code == 200, name
    linked = re.findall(r'(?:src|href)="(?!data:)([^"]+)"', page.text)
    assert all(address.startswith("./static/") for address in linked)


def test_the_document_says_what_the_run_knows(client: TestClient, running: Recorder) -> None:
    found = client.get(f"{HERE}/document").json()
    assert found["title"] == "auction.sql"
    assert found["live"]
    assert found["settings"] == [{"name": "purge_every", "type": "ROWS | eager", "value": "eager", "help": ""}]


@pytest.mark.parametrize("path", ["/", "/document", "/wrong/document", f"/{TOKEN[:-1]}/", f"/{TOKEN}x/document", "//"])
def test_an_address_without_the_token_is_refused(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 403
    assert TOKEN not in answer.text


@pytest.mark.parametrize(
    "name",
    [
        "../server.py",
        "..%2fserver.py",
        "%2e%2e/%2e%2e/etc/passwd",
        "/etc/passwd",
        "index.html",
        "vendor%2f..%2fpage.css",
        "nul%00",
    ],
)
def test_no_file_is_read_but_those_of_the_page(client: TestClient, name: str) -> None:
    assert client.get(f"{HERE}/static/{name}").status_code in (403, 404)


def test_another_host_is_refused_as_a_rebound_name_would_be(client: TestClient) -> None:
    for host in ("evil.example", "evil.example:8080", "127.0.0.1:9", ""):
        assert client.get(f"{HERE}/document", headers={"host": host}).status_code == 421


def test_requests_of_other_pages_are_refused(client: TestClient, running: Recorder) -> None:
    asked = {"name": "purge_every", "value": "100"}
    for headers in (
        {"origin": "http://evil.example", "content-type": "application/json"},
        {"origin": "null", "content-type": "application/json"},
        {"content-type": "application/json"},
        {**OWN, "sec-fetch-site": "cross-site"},
        {**OWN, "sec-fetch-site": "same-site"},
    ):
        assert client.post(f"{HERE}/settings", json=asked, headers=headers).status_code == 403
    assert client.get(f"{HERE}/document", headers={"origin": "http://evil.example"}).status_code == 403
    assert client.get(f"{HERE}/document", headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert running.controls is not None
    assert [each["value"] for each in running.controls] == ["eager"]
    assert "access-control-allow-origin" not in client.get(f"{HERE}/document").headers


def test_a_setting_is_taken_from_the_page_itself(client: TestClient) -> None:
    answer = client.post(f"{HERE}/settings", json={"name": "purge_every", "value": "100"}, headers=OWN)
    assert answer.status_code == 200
    assert answer.json()["settings"][0]["value"] == "100"
    refused = client.post(f"{HERE}/settings", json={"name": "purge", "value": "1"}, headers=OWN)
    assert (refused.status_code, refused.text) == (422, "there is no setting purge: there is purge_every\n")


def test_a_query_over_sysstream_is_added_and_removed_and_others_are_refused(
    client: TestClient, running: Recorder
) -> None:
    address, text = f"{HERE}/graphs", "SELECT value FROM sysstream [NOW]"
    assert client.post(address, json={"do": "add", "text": text}).status_code == 403  # of no page
    assert client.post(address, json={"do": "add", "text": text}, headers=OWN).status_code == 200
    assert [each["text"] for each in client.get(f"{HERE}/document").json()["graphs"]] == [text]
    table = "CREATE TABLE t (a BIGINT) USING csv OPTIONS (path '/etc/passwd'); SELECT a FROM t"
    for refused in ("SELECT", "SELECT a FROM s [NOW]", table):
        answer = client.post(address, json={"do": "add", "text": refused}, headers=OWN)
        assert answer.status_code == 422
        assert answer.text.strip()
    for wrong in ({"do": "drop", "text": text}, {"text": text}, ["add", text]):
        assert client.post(address, json=wrong, headers=OWN).status_code == 400
    assert client.post(address, json={"do": "remove", "text": text}, headers=OWN).status_code == 200
    assert client.get(f"{HERE}/document").json()["graphs"] == []
    running.end()
    assert client.post(address, json={"do": "add", "text": text}, headers=OWN).status_code == 409


def test_a_run_that_is_over_takes_no_settings(client: TestClient, running: Recorder) -> None:
    running.end()
    asked = {"name": "purge_every", "value": "1"}
    assert client.post(f"{HERE}/settings", json=asked, headers=OWN).status_code == 409
    assert client.get(f"{HERE}/document").json()["settings"] == []


def test_huge_and_odd_requests_are_refused(client: TestClient) -> None:
    address = f"{HERE}/settings"
    assert client.post(address, content=b"x" * (MOST_BYTES + 1), headers=OWN).status_code == 413
    chunks = (b"x" * 1024 for _ in range(100))
    assert client.post(address, content=chunks, headers=OWN).status_code == 413
    assert client.post(address, content=b"[]", headers=OWN).status_code == 400
    assert client.post(address, content=b"\xff", headers=OWN).status_code == 400
    assert client.post(address, content=b"a=1", headers={**OWN, "content-type": "text/plain"}).status_code == 415
    assert client.get(address).status_code == 405
    assert client.put(address, content=b"", headers=OWN).status_code == 405
    assert client.get(f"{HERE}/events?epoch=x").status_code == 400


def test_a_page_follows_a_run_to_its_end_and_gets_every_frame_once() -> None:
    run = watched()
    client = TestClient(page_app(lambda: run.recorder, TOKEN, [HOST]), base_url=f"http://{HOST}")
    before = client.get(f"{HERE}/document").json()
    run.finish()
    news = client.get(f"{HERE}/events?run={before['run']}&epoch=0&frames={len(before['frames'])}").text
    sent = [json.loads(text.removeprefix("data: ")) for text in news.split("\n\n") if text.startswith("data: ")]
    frames = [frame for each in sent for frame in each["frames"]]
    assert before["frames"] + frames == run.recorder.document()["frames"]
    assert sent[-1]["live"] is False
    assert "event: over" in news


def test_a_page_with_older_frames_is_told_to_read_anew(recorder: Recorder) -> None:
    client = TestClient(page_app(lambda: recorder, TOKEN, [HOST]), base_url=f"http://{HOST}")
    for asked in (f"run={recorder.key}&epoch=7", f"run={recorder.key}&frames=99999", "run=another"):
        assert client.get(f"{HERE}/events?{asked}").text == "event: anew\ndata: {}\n\n"


@pytest.fixture
def served() -> Iterator[tuple[PageServer, Any]]:
    run = watched()
    server = PageServer()
    server.show(run.recorder)
    with server:
        yield server, run


def test_a_raw_path_with_dots_leads_nowhere(served: tuple[PageServer, Any]) -> None:
    address = urlsplit(served[0].address)
    for path in ("static/../../server.py", "static//etc/passwd", "static/vendor/../page.css"):
        with closing(http.client.HTTPConnection(str(address.hostname), address.port or 0)) as connection:
            connection.request("GET", f"{address.path}{path}")
            assert connection.getresponse().status == 404


def test_only_this_machine_is_served(served: tuple[PageServer, Any]) -> None:
    address = urlsplit(served[0].address)
    assert address.hostname == "127.0.0.1"
    assert len(address.path) > 20
    with closing(http.client.HTTPConnection(str(address.hostname), address.port or 0)) as connection:
        connection.request("GET", f"{address.path}document")
        assert connection.getresponse().status == 200


def test_slow_and_silent_readers_are_limited_and_the_query_runs_on(served: tuple[PageServer, Any]) -> None:
    server, run = served
    address = urlsplit(server.address)
    place = (str(address.hostname), address.port or 0)
    request = f"GET {address.path}events?run={run.recorder.key} HTTP/1.1\r\nHost: {address.netloc}\r\n\r\n".encode()
    readers = [socket.create_connection(place, timeout=10) for _ in range(MOST_READERS + 1)]
    try:
        for reader in readers:
            reader.sendall(request)
        answers = sorted(reader.recv(64).split(b"\r\n")[0] for reader in readers)
        assert answers[-1] == b"HTTP/1.1 503 Service Unavailable"
        assert answers.count(b"HTTP/1.1 200 OK") == MOST_READERS
        silent = socket.create_connection(place, timeout=10)
        silent.sendall(b"GET /")  # and nothing more
        readers.append(silent)
        assert len(run.finish().document()["frames"]) >= 1  # none of them reads, and the run is done
    finally:
        for reader in readers:
            reader.close()


def test_a_head_that_never_ends_is_refused(served: tuple[PageServer, Any]) -> None:
    address = urlsplit(served[0].address)
    with socket.create_connection((str(address.hostname), address.port or 0), timeout=10) as reader:
        reader.sendall(b"GET / HTTP/1.1\r\nx: " + b"a" * 40_000)
        assert reader.recv(64).startswith(b"HTTP/1.1 4")


def test_a_port_that_is_taken_fails_early(served: tuple[PageServer, Any]) -> None:
    with pytest.raises(PenstockError, match="address already in use"):
        PageServer(port=urlsplit(served[0].address).port or 0)
