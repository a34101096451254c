"""The files of the page, by name: the only ones that the server gives, and all that a report holds.

Modules import each other by bare names, which an import map resolves: to addresses of the server, or in a report to the
modules themselves as data. So the same files run in both, and there is no build step.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

_TYPES = {"js": "text/javascript", "css": "text/css"}

#: The modules of the page, each below those that it imports.
MODULES = (
    "vendor/dagre.esm.js",
    "format.js",
    "model.js",
    "layout.js",
    "graph.js",
    "chart.js",
    "sql.js",
    "inspector.js",
    "drawer.js",
    "main.js",
)
#: It defines a global name, and runs before the modules.
SCRIPTS = ("vendor/uPlot.iife.min.js",)
STYLES = ("vendor/uPlot.min.css", "page.css")

#: The only inline script: it starts the page.
_START = 'import "penstock/main.js";'


@cache
def asset(name: str) -> str | None:
    """Returns the text of a file of the page; None for any other name."""
    if name not in (*MODULES, *SCRIPTS, *STYLES, "index.html"):
        return None
    return files("penstock.monitor.page").joinpath("static", *name.split("/")).read_text(encoding="utf-8")


def media_type(name: str) -> str:
    return _TYPES[name.rpartition(".")[2]]


@cache
def linked_page() -> tuple[str, str]:
    """Returns the page that the server gives, which links its files, and the policy under which it runs."""
    imports = _import_map({name: f"./static/{name}" for name in MODULES})
    scripts = "".join(f'<script src="./static/{name}"></script>' for name in SCRIPTS)
    styles = "".join(f'<link rel="stylesheet" href="./static/{name}">' for name in STYLES)
    policy = _policy(f"'self' {_hash(imports)} {_hash(_START)}", "'self'", connect="'self'")
    return _filled(styles=styles, imports=imports, scripts=scripts), policy


def inlined_page(document: Mapping[str, Any]) -> str:
    """Returns a page that holds its files and a document, and opens from disk."""
    imports = _import_map({name: _data_address(name) for name in MODULES})
    scripts = "".join(f'<script src="{_data_address(name)}"></script>' for name in SCRIPTS)
    styles = "".join(f"<style>{asset(name)}</style>" for name in STYLES)
    policy = _policy(f"data: {_hash(imports)} {_hash(_START)}", "'unsafe-inline'", connect="'none'")
    # In a script element nothing ends the text but the tag that would end it.
    text = json.dumps(document, separators=(",", ":")).replace("<", "\\u003c")
    held = f'<script type="application/json" id="document">{text}</script>'
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    return _filled(styles=styles, imports=imports, scripts=scripts + held, meta=meta)


def _filled(*, styles: str, imports: str, scripts: str, meta: str = "") -> str:
    page = asset("index.html")
    assert page is not None
    start = f'<script type="importmap">{imports}</script>{scripts}<script type="module">{_START}</script>'
    return page.replace("<!-- policy -->", meta).replace("<!-- styles -->", styles).replace("<!-- scripts -->", start)


def _import_map(addresses: Mapping[str, str]) -> str:
    return json.dumps({"imports": {f"penstock/{name}": address for name, address in addresses.items()}})


def _data_address(name: str) -> str:
    text = asset(name)
    assert text is not None
    return f"data:{media_type(name)};base64,{b64encode(text.encode()).decode()}"


def _hash(script: str) -> str:
    """Returns the source expression that allows one inline script.

    >>> _hash("")
    "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
    """
    return f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"


def _policy(scripts: str, styles: str, *, connect: str) -> str:
    rules = {
        "default-src": "'none'",
        "script-src": scripts,
        "style-src": styles,
        "connect-src": connect,
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())
