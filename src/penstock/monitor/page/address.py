"""Where a page is shown: on this machine, unless an address is given. It loads nothing, so it is checked early."""

from __future__ import annotations

from importlib.util import find_spec
from ipaddress import ip_address

from penstock.errors import PenstockError

LOOPBACK = "127.0.0.1"


def require_extra() -> None:
    """Says how to get what the page needs, where it is not there."""
    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise PenstockError(f"the page needs {' and '.join(missing)}", "install them with: pip install 'penstock[ui]'")


def address_of(text: str) -> tuple[str, int]:
    """Returns host and port of a port, or of an address with one; port 0 is any that is free.

    >>> address_of("8080"), address_of("0.0.0.0:8080"), address_of("[::1]:8080")
    (('127.0.0.1', 8080), ('0.0.0.0', 8080), ('::1', 8080))
    """
    host, _, port = text.rpartition(":")
    host = host.strip("[]") or LOOPBACK
    if not port.isdecimal() or int(port) > 65_535:
        raise PenstockError(f"{text} is not a port", "write --ui=8080, --ui=ADDRESS:PORT, or --ui behind the file")
    try:
        ip_address(host)
    except ValueError:
        if host != "localhost":
            raise PenstockError(f"{host} is not an address of this machine", "give a number, as 0.0.0.0:8080") from None
        host = LOOPBACK
    return host, int(port)
