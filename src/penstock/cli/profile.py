"""penstock profile: find out which constraints hold in data, and with which k

Reads files once, and prints the streams that they are as DDL to paste: keys, orders, clusters and references, each
with the k that the data require. What holds for most rows only stands in comments.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.catalog import Attribute, StreamDef
from penstock.cli.arguments import at_least_one, duration
from penstock.cli.files import JSON_SCHEMA, read_sql
from penstock.cli.printing import say
from penstock.cli.progress import Bar
from penstock.errors import PenstockError
from penstock.sql import bind_text
from penstock.sql.diagnostics import did_you_mean, listed

if TYPE_CHECKING:
    from penstock.profiling.arrivals import Profiled

MOST_ROWS = 100_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    data = "a file or folder of csv, json or parquet, one stream each; or a SQL file that declares streams with USING"
    parser.add_argument("data", metavar="DATA", nargs="+", help=data)
    parser.add_argument(
        "--time", metavar="[STREAM.]COLUMN", action="append", default=[], help="the column of the timestamps"
    )
    parser.add_argument(
        "--delay", metavar="TIME", type=duration, help="leave out rows that come later than this, as '5 SECONDS'"
    )
    parser.add_argument("--columns", metavar="NAMES", help="examine these columns only: a,b or stream.a,stream.b")
    parser.add_argument(
        "--most",
        metavar="K",
        type=at_least_one,
        default=MOST_ROWS,
        help=f"the largest k, in rows, that is of interest (default: {MOST_ROWS})",
    )
    parser.add_argument("--json", action="store_true", help="print the profile as JSON")


def run(args: argparse.Namespace) -> int:
    # Libraries for data are loaded here, which the other commands do without.
    from penstock.profiling.ddl import profile_ddl  # noqa: PLC0415
    from penstock.profiling.profiler import profile_files  # noqa: PLC0415
    from penstock.profiling.report import profile_json  # noqa: PLC0415
    from penstock.profiling.sources import about_how_many  # noqa: PLC0415

    streams = _streams(args)
    bar = Bar([about_how_many(stream.definition) for stream in streams])
    try:
        profile = profile_files(streams, args.most, bar.show)
    finally:
        bar.clear()
    if args.json:
        say(json.dumps({"schema": JSON_SCHEMA, **profile_json(profile)}, indent=2, ensure_ascii=False))
    else:
        say(profile_ddl(profile))
    return 0


def _streams(args: argparse.Namespace) -> list[Profiled]:
    """Returns the declared streams, and a stream for each file."""
    from penstock.profiling.arrivals import Profiled  # noqa: PLC0415
    from penstock.profiling.sources import name_of, stream_of  # noqa: PLC0415

    by_file = _declared(args.data)
    files = [path for path in args.data if path not in by_file]
    if not files and (args.time or args.delay is not None):
        raise PenstockError("--time and --delay are for files that are not declared", "change the declaration")
    declared = [stream for some in by_file.values() for stream in some]
    found = [replace(stream_of(f, _time_of(name_of(f), args.time)), delay=args.delay or 0) for f in files]
    _check_names([*declared, *found], args.time)
    columns = _chosen(args.columns, [*declared, *found])
    streams = [Profiled(stream, columns[stream.name], stream.delay) for stream in declared]
    return [*streams, *(Profiled(stream, columns[stream.name], args.delay, guessed=True) for stream in found)]


def _declared(data: Sequence[str]) -> dict[str, tuple[StreamDef, ...]]:
    """Returns the streams that SQL files declare, by file."""
    declared = {}
    for path in data:
        if path.lower().endswith(".sql"):
            declared[path] = bind_text(read_sql(path), path).checked().catalog.streams
            if not declared[path]:
                raise PenstockError(f"{path}: no stream is declared", "write CREATE STREAM ... USING ...")
    return declared


def _check_names(streams: Sequence[StreamDef], times: Sequence[str]) -> None:
    """Checks that streams have different names, and that every time column belongs to one of them."""
    counts = Counter(stream.name.lower() for stream in streams)
    for time in times:
        stream, dot, _ = time.rpartition(".")
        if dot and stream.lower() not in counts:
            names = [each.name for each in streams]
            raise PenstockError(
                f"there is no stream {stream}", did_you_mean(stream, names) or f"there are {listed(names)}"
            )
    if twice := [name for name, count in counts.items() if count > 1]:
        hint = "rename a file, or declare the streams in a SQL file; the files of one stream stand in one folder"
        raise PenstockError(f"two streams are named {twice[0]}", hint)


def _time_of(stream: str, times: Sequence[str]) -> str | None:
    """Returns the column that was named for a stream, or for all."""
    for time in times:
        if time.lower().startswith(f"{stream.lower()}."):
            return time[len(stream) + 1 :]
    return next((time for time in times if "." not in time), None)


def _chosen(columns: str | None, streams: Sequence[StreamDef]) -> dict[str, list[Attribute]]:
    """Returns the columns of each stream that are examined."""
    own = {stream.name: [a for a in stream.attributes if not a.virtual] for stream in streams}
    if columns is None:
        return own
    names = [name.strip().lower() for name in columns.split(",") if name.strip()]
    known = {spelling for name, some in own.items() for a in some for spelling in _spellings(name, a)}
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known) or f"there are {listed(sorted(known))}"
            raise PenstockError(f"there is no column {name}", hint)
    return {name: [a for a in some if not _spellings(name, a).isdisjoint(names)] for name, some in own.items()}


def _spellings(stream: str, attribute: Attribute) -> set[str]:
    return {attribute.name.lower(), f"{stream}.{attribute.name}".lower()}
