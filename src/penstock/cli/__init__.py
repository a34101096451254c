"""The command line. Each command is a file with its arguments and what it does."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper

from penstock import __version__
from penstock.cli import check, ctl, explain, fmt, lint, profile, prove, run, top, ui, warm
from penstock.cli.printing import say, show_traceback
from penstock.cli.stopping import INTERRUPTED, is_interrupt
from penstock.effort import TooDeep
from penstock.errors import PenstockError

#: Exit codes: all is well, the answer is no, and the input is bad.
OK, NO, BAD_INPUT = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    given, behind = lint.behind_dashes(list(sys.argv[1:] if arguments is None else arguments))
    args = _parser().parse_args(given)
    args.behind = behind
    sys.excepthook = show_traceback
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # as the files are, whatever the terminal's locale says
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        code: int = args.run(args)
        sys.stdout.flush()
        return code
    except PenstockError as error:
        if args.debug:
            raise
        print(error, file=sys.stderr)
        return BAD_INPUT
    except RecursionError:
        if args.debug:
            raise
        print(TooDeep(), file=sys.stderr)
        return BAD_INPUT
    except (KeyboardInterrupt, SystemError) as error:
        if not is_interrupt(error):
            raise
        return INTERRUPTED
    except BrokenPipeError:
        _forget_output()
        return OK  # the reader of our output has closed the pipe
    except OSError as error:
        if args.debug:
            raise
        _forget_output()
        say(f"{error.filename or 'cannot write'}: {error.strerror or error}", sys.stderr)
        return BAD_INPUT


def _forget_output() -> None:
    """Discards buffered output, so that Python raises no error when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="penstock", description="Continuous SQL over streams, in bounded memory.")
    parser.add_argument("--version", action="version", version=f"penstock {__version__}")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in (check, ctl, explain, fmt, lint, profile, prove, run, top, ui, warm):
        name = command.__name__.rpartition(".")[2]
        summary = (command.__doc__ or "").splitlines()[0].partition(": ")[2]
        subparser = commands.add_parser(name, help=summary, description=summary)
        command.add_arguments(subparser)
        subparser.set_defaults(run=command.run)
    return parser
