"""penstock ctl: list the runs of this user, show what can be set, and set it while they run

A change takes effect at the boundary of the next step, and no result depends on it.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from penstock.cli.printing import say
from penstock.errors import PenstockError
from penstock.sql.diagnostics import listed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="RUN", nargs="?", help="a run, as penstock ctl lists it, or how it begins")
    parser.add_argument("action", metavar="show|set", nargs="?", choices=("show", "set"), help="what to do")
    parser.add_argument("property", metavar="PROPERTY", nargs="?", help="what to set")
    parser.add_argument("value", metavar="VALUE", nargs="?", help="to what")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    # Only what talks to a run needs sockets.
    from penstock.monitor.run_socket import ask, running  # noqa: PLC0415

    if args.name is None:
        names = list(running())
        _print({"runs": names}, "\n".join(names) or "nothing runs", args)
        return 0
    if args.action == "set":
        if args.property is None or args.value is None:
            raise PenstockError(
                "set needs a property and a value", f"write penstock ctl {args.name} set PROPERTY VALUE"
            )
        answer = ask(found(args.name), {"command": "set", "property": args.property, "value": args.value})
        setting = answer["setting"]
        _print(
            setting, f"{setting['name']} will be {setting['value']} from the next step on, until this run ends", args
        )
        return 0
    if args.property is not None:
        raise PenstockError(f"show takes no {args.property}", f"write penstock ctl {args.name} show")
    settings = ask(found(args.name), {"command": "show"})["settings"]
    _print(settings, "\n".join(map(_line, settings)), args)
    return 0


def found(name: str) -> Path:
    """Returns the socket of the run of that name, or of the only one whose name begins so."""
    from penstock.monitor.run_socket import running  # noqa: PLC0415

    runs = running()
    fitting = [run for run in runs if run == name] or [run for run in runs if run.startswith(name)]
    if len(fitting) == 1:
        return runs[fitting[0]]
    if fitting:
        raise PenstockError(f"{len(fitting)} runs begin with {name}", f"say which: {listed(fitting)}")
    hint = f"there are {listed(list(runs))}" if runs else "nothing runs: start one with penstock run"
    raise PenstockError(f"there is no run {name}", hint)


def _line(setting: dict[str, str]) -> str:
    return f"{setting['name']:<38} {setting['value']:<12} {setting['help']} ({setting['type']})"


def _print(answer: Any, text: str, args: argparse.Namespace) -> None:
    say(json.dumps(answer, indent=2, ensure_ascii=False) if args.json else text, sys.stdout)
