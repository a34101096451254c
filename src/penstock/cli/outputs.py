"""The paths that a run writes to: it never writes to a path that it reads.

That includes paths inside of a folder that a stream reads: the next run would read the results as rows.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

from penstock.algebra.relations import Query
from penstock.catalog import StreamDef, TableDef
from penstock.engines.drafts import existing
from penstock.errors import PenstockError
from penstock.sql import Script
from penstock.sql.diagnostics import listed

_ONE_OUTPUT = "choose one with --query, or write {query} in the path, as in --out 'results/{query}.csv'"


def targets(out: str, queries: list[Query]) -> list[str]:
    """Returns the target of each query's results."""
    if len(queries) > 1 and out != "-" and "{query}" not in out:
        names = listed(query.name for query in queries)
        raise PenstockError(f"the results of {names} cannot go to one place", _ONE_OUTPUT)
    if "{query}" in out:
        refuse_names(queries, "choose it with --query, and write --out without {query}")
    return [out.replace("{query}", query.name) for query in queries]


def refuse_names(queries: list[Query], hint: str) -> None:
    """Refuses names of queries that cannot be names of files."""
    for query in queries:
        if not _is_file_name(query.name):
            raise PenstockError(f"the name of the query {query.name} cannot be part of a path", hint)


def _is_file_name(name: str) -> bool:
    """Returns whether a file can be called that, and stays in its folder.

    >>> [_is_file_name(name) for name in ("top", "a b", "../top", "..", "a\\0b")]
    [True, True, False, False, False]
    """
    return name not in (".", "..") and not set(name) & {os.sep, os.altsep, "\0"}


def refuse_what_is_read(paths: Iterable[str], statements: str, script: Script) -> None:
    """Refuses to write to files that statements or data are read from, or to one file twice."""
    written = [path for path in paths if path != "-"]
    hint = "write to a path that nothing is read from"
    for path in written:
        if statements != "-" and Path(path).exists() and Path(path).samefile(statements):
            raise PenstockError(f"{path}: the statements are read from it", hint)
        definitions: tuple[StreamDef | TableDef, ...] = (*script.catalog.streams, *script.catalog.tables)
        for definition in definitions:
            if _would_read(definition, path):
                raise PenstockError(f"{path}: {definition.name} reads it", hint)
    for place, path in enumerate(written):
        if any(os.path.realpath(path) == os.path.realpath(other) for other in written[:place]):
            raise PenstockError(f"{path}: two things would be written to it", "give each a path of its own")


def refuse_existing(paths: Iterable[str]) -> None:
    """Refuses to replace files. A pipe or a terminal exists already, and can be written."""
    for path in paths:
        if Path(path).is_file():
            raise existing(path)


def _would_read(definition: StreamDef | TableDef, path: str) -> bool:
    """Returns whether a declared source reads the file or folder of this path, or would if it were there."""
    options = {} if definition.connector is None else dict(definition.connector.options)
    source = next((value for name, value in options.items() if name.lower() == "path"), "").removeprefix("file:")
    if not source:
        return False
    target, pattern = Path(os.path.realpath(path)), Path(os.path.realpath(source))
    if target == pattern or (target.parent == pattern and not target.name.startswith(("_", "."))):
        return True
    if glob.has_magic(source) and _fits(target, pattern):
        return True
    files = pattern.iterdir() if pattern.is_dir() else map(Path, glob.glob(source))
    return target.exists() and any(file.exists() and target.samefile(file) for file in files)


def _fits(path: Path, pattern: Path) -> bool:
    """Returns whether a pattern would find a path. A wildcard stands for nothing that starts with a dot.

    >>> _fits(Path("/in/a.csv"), Path("/in/*.csv")), _fits(Path("/in/of/a.csv"), Path("/in/*.csv"))
    (True, False)
    """
    pairs = zip(path.parts, pattern.parts, strict=False)
    return len(path.parts) == len(pattern.parts) and all(
        fnmatchcase(part, wanted) and (part[0] != "." or wanted[0] == ".") for part, wanted in pairs
    )
