"""Reading SQL files, and printing what is wrong with them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from penstock.algebra.printing import Json
from penstock.errors import PenstockError, SqlError, SqlErrors
from penstock.functions.files import catalog_of_files
from penstock.sql import Script, bind_text

#: The version of every JSON output.
JSON_SCHEMA = 1

NO_QUERY = "no query; the declarations are well formed"


def read_sql(file: str) -> str:
    """Returns the text of a file; of standard input for `-`."""
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise PenstockError(f"{file}: {error.strerror}", "give the path of a file with SQL statements") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PenstockError(f"{file}: byte {error.start} is not UTF-8", "save the file as UTF-8") from error


def bound_script(args: argparse.Namespace) -> Script:
    """Returns the statements of a command's file, bound in its time zone, with the functions that it names."""
    catalog = catalog_of_files(args.functions)
    return bind_text(read_sql(args.file), shown_name(args.file), catalog, args.time_zone)


def shown_name(file: str) -> str:
    return "<stdin>" if file == "-" else file


def print_errors(script: Script) -> None:
    if script.errors:
        print(SqlErrors(script.errors), file=sys.stderr)


def error_json(error: SqlError) -> dict[str, Json]:
    return {
        "file": error.source.file,
        "line": error.line,
        "column": error.column,
        "message": error.message,
        "hint": error.hint,
    }
