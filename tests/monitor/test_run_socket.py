"""The socket of a run is the user's alone; clients that are slow or send garbage are refused, and it goes on."""

from __future__ import annotations

import json
import os
import socket
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from penstock import PenstockError
from penstock.monitor import run_socket
from penstock.monitor.run_socket import MOST_BYTES, MOST_CLIENTS, RunSocket, ask, running


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("r")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(base))
    return base / "penstock"


def echo(request: Mapping[str, Any]) -> Mapping[str, Any]:
    if "wrong" in request:
        raise PenstockError("it is wrong", "put it right")
    return {"echo": request}


@pytest.fixture
def listening() -> Iterator[RunSocket]:
    listener = RunSocket("net work/..", echo)
    yield listener
    listener.close()


def connected(listening: RunSocket) -> socket.socket:
    client = socket.socket(socket.AF_UNIX)
    client.connect(str(running()[listening.name]))  # waits where many others do
    client.settimeout(30)
    return client


def received(client: socket.socket) -> bytes:
    """What comes until the other side ends the connection."""
    parts = []
    try:
        while part := client.recv(1 << 16):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def answer_to(listening: RunSocket, data: bytes) -> dict[str, Any]:
    with connected(listening) as client:
        try:
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it has heard enough
        return dict(json.loads(received(client) or b"{}"))


def test_the_socket_and_its_folder_are_the_users_alone(listening: RunSocket, folder: Path) -> None:
    path = running()[listening.name]
    assert path.parent == folder
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert listening.name == f"net_work_-{os.getpid()}" or listening.name.startswith("net_work_")
    assert ask(path, {"command": "x"}) == {"schema": 1, "echo": {"command": "x"}}


def test_what_it_refuses_is_told(listening: RunSocket) -> None:
    with pytest.raises(PenstockError, match="it is wrong"):
        ask(running()[listening.name], {"wrong": 1})


@pytest.mark.parametrize(
    "garbage", [b"\n", b"not json\n", b"[1]\n", b"\xff\xfe\x00\n", b"[" * 50_000 + b"\n", b'{"a": ', b""]
)
def test_garbage_is_refused_and_it_goes_on(listening: RunSocket, garbage: bytes) -> None:
    assert answer_to(listening, garbage)["error"] == "the request is not an object of JSON"
    assert "echo" in answer_to(listening, b'{"a": 1}\n')


def test_a_huge_request_is_refused_and_it_goes_on(listening: RunSocket) -> None:
    answer = answer_to(listening, b"x" * (MOST_BYTES + 10_000))
    assert answer.get("error", "more than 65536 bytes").endswith("more than 65536 bytes")
    assert "echo" in answer_to(listening, b'{"a": 1}\n')


def test_clients_that_say_nothing_keep_nobody_out_for_long(
    listening: RunSocket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_socket, "PATIENCE", 0.2)
    silent = [connected(listening) for _ in range(3 * MOST_CLIENTS)]
    for client in silent:
        # Those that are too many are let go at once, the others when they have been waited for.
        with client:
            assert not received(client)
    assert "echo" in answer_to(listening, b'{"a": 1}\n')


def test_the_socket_goes_with_the_run(folder: Path) -> None:
    listener = RunSocket("a", echo)
    assert list(folder.iterdir())
    listener.close()
    assert not folder.exists()


def test_what_a_dead_run_left_is_removed(folder: Path) -> None:
    assert running() == {}
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(folder / "dead-1.sock"))
    dead.close()
    assert running() == {}
    assert not list(folder.iterdir())


def test_a_folder_that_others_may_enter_is_refused(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o755)
    with pytest.raises(PenstockError, match="not a folder of this user alone"):
        running()


def test_a_link_to_a_folder_is_refused(folder: Path, tmp_path: Path) -> None:
    folder.symlink_to(tmp_path)
    with pytest.raises(PenstockError, match="not a folder of this user alone"):
        running()
