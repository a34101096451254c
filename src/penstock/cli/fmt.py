"""penstock fmt: print a file's statements in normal form

The printed text means the same, and comments stay. `--write` changes the file, `--check` only says whether it would.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from penstock.cli.files import read_sql, shown_name
from penstock.errors import PenstockError
from penstock.sql.formatting import format_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="SQL statements; - for standard input")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--write", "-w", action="store_true", help="write the file instead of printing it")
    how.add_argument("--check", action="store_true", help="exit 1 if the file is not in normal form; print nothing")


def run(args: argparse.Namespace) -> int:
    before = read_sql(args.file)
    after = format_text(before, shown_name(args.file))
    if args.check:
        return 0 if before == after else 1
    if not args.write:
        sys.stdout.write(after)
    elif args.file == "-":
        raise PenstockError("standard input cannot be written", "leave --write out")
    elif before != after:
        _replace(Path(args.file).resolve(), after)
    return 0


def _replace(path: Path, text: str) -> None:
    """Writes beside the file and renames, so that a crash leaves the old file or the new one, never half of one."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        beside.write_text(text, encoding="utf-8", newline="")
        beside.chmod(path.stat().st_mode)
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise PenstockError(f"{path}: {error.strerror}", "the file is as it was") from error
