"""The socket of a run: who may read the user's files may ask how the run goes, and change its settings.

It is a Unix domain socket in a folder of the user's own, named after the run. A request is one line of JSON, and so is
the answer, after which the connection ends. The run goes on whatever clients do: they are served in threads of their
own, a few at a time, each for a few seconds, and a request may not be large.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from penstock.errors import PenstockError

#: The schema of requests and answers.
SCHEMA = 1

#: A request has so many bytes at most; a client may take so many seconds, and so many are served at a time.
MOST_BYTES = 1 << 16
PATIENCE = 5.0
MOST_CLIENTS = 8

#: Answers a request; both are JSON. What it raises as a PenstockError is the answer.
Answer = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def runtime_folder() -> Path:
    """Returns the folder of the sockets of this user's runs; it is made if it is not there."""
    base = os.environ.get("XDG_RUNTIME_DIR")
    is_there = base is not None and Path(base).is_dir()
    folder = Path(base or "") / "penstock" if is_there else Path(tempfile.gettempdir()) / f"penstock-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise PenstockError(f"{folder}: {error.strerror}", "name a folder of your own in XDG_RUNTIME_DIR") from error
    is_own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
    if not is_own:
        raise PenstockError(f"{folder} is not a folder of this user alone", "remove it, or set XDG_RUNTIME_DIR")
    return folder


def running() -> dict[str, Path]:
    """Returns the sockets of all runs of this user by their names; what runs that have died left is removed."""
    found = {}
    for path in sorted(runtime_folder().glob("*.sock")):
        if _is_live(path):
            found[path.stem] = path
        else:
            path.unlink(missing_ok=True)
    return found


def _is_live(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(PATIENCE)
        try:
            client.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            return True  # busy, and so not dead
    return True


class RunSocket:
    """Listens for requests until it is closed. `name` is that of the run; its process is added."""

    def __init__(self, name: str, answer: Answer) -> None:
        self._answer = answer
        self.name = f"{_plain(name)}-{os.getpid()}"
        self._path = runtime_folder() / f"{self.name}.sock"
        self._slots = threading.BoundedSemaphore(MOST_CLIENTS)
        running()  # which removes what others left
        self._listener = socket.socket(socket.AF_UNIX)
        try:
            self._path.unlink(missing_ok=True)
            self._listener.bind(str(self._path))
            self._path.chmod(0o600)  # until then the folder, which is the user's alone, keeps others out
            self._listener.listen(MOST_CLIENTS)
        except OSError as error:
            self._listener.close()
            hint = "name a folder with a short path in XDG_RUNTIME_DIR"
            raise PenstockError(f"{self._path}: {error.strerror or error}", hint) from error
        self._thread = threading.Thread(target=self._serve, name="penstock-control", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stops listening, and removes the socket, and the folder if it was the last."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._path.unlink(missing_ok=True)
        with suppress(OSError):
            self._path.parent.rmdir()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return  # closed
            if not self._slots.acquire(blocking=False):
                client.close()
                continue
            threading.Thread(target=self._served, args=(client,), daemon=True).start()

    def _served(self, client: socket.socket) -> None:
        try:
            with client, suppress(OSError):
                client.settimeout(PATIENCE)
                if _is_of_this_user(client):
                    client.sendall(json.dumps(self._answered(client)).encode() + b"\n")
        finally:
            self._slots.release()

    def _answered(self, client: socket.socket) -> Mapping[str, Any]:
        try:
            return {"schema": SCHEMA, **self._answer(_request(client))}
        except PenstockError as error:
            return {"schema": SCHEMA, "error": error.message, "hint": error.hint}


def _request(client: socket.socket) -> Mapping[str, Any]:
    """Reads a request: a line with an object of JSON."""
    received = b""
    while b"\n" not in received:
        if len(received) > MOST_BYTES:
            raise PenstockError(f"the request has more than {MOST_BYTES} bytes", "ask for less at a time")
        part = client.recv(4096)
        if not part:
            break
        received += part
    try:
        request = json.loads(received.partition(b"\n")[0])
    except (ValueError, RecursionError):
        request = None
    if not isinstance(request, dict):
        raise PenstockError("the request is not an object of JSON", "use penstock ctl")
    return request


def _is_of_this_user(client: socket.socket) -> bool:
    """Returns whether the other side runs as this user, where the system says so; the folder is the user's anyway."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    credentials = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int.from_bytes(credentials[4:8], "little", signed=False) in (os.getuid(), 0)


def _plain(name: str) -> str:
    """Returns a name that can be that of a file."""
    kept = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in name)
    return kept.strip(".")[:40] or "run"


def ask(path: Path, request: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the answer of a run; raises what it refuses."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(PATIENCE)
        try:
            client.connect(str(path))
            client.sendall(json.dumps(request).encode() + b"\n")
            with client.makefile("rb") as answered:
                answer = json.loads(answered.readline())
        except (OSError, ValueError) as error:
            raise PenstockError(f"{path.stem} does not answer", "penstock ctl lists the runs that there are") from error
    if "error" in answer:
        raise PenstockError(answer["error"], answer.get("hint"))
    return dict(answer)
