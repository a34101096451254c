"""What a run answers to requests from outside: what there is to see of it, its settings, and changes of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from penstock.errors import PenstockError
from penstock.monitor.control import Controls
from penstock.monitor.live import Live


def answered(name: str, controls: Controls, live: Live, request: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the answer to a request.

    `{"command": "show"}` gives queries and settings, `{"command": "set", "property": ..., "value": ...}` changes one.
    """
    match request:
        case {"command": "show"}:
            settings = [setting.as_json() for setting in controls]
            return {"run": name, "pid": os.getpid(), "queries": live.picture(), "settings": settings}
        case {"command": "set", "property": str(property_), "value": str(value)}:
            return {"setting": controls.set(property_, value).as_json()}
    raise PenstockError("the request is not one that a run answers", "use penstock ctl, of the version of the run")
