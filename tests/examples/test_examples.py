"""Every example binds, and means what its golden file shows: the normal form of each of its queries.

`PENSTOCK_GOLDEN=rewrite` writes the golden files anew; the diff is to be read.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from penstock.algebra.printing import plan_text
from penstock.algebra.rewrites import normalise
from penstock.functions.files import catalog_of_files
from penstock.sql import Script, bind_text

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.sql"))
GOLDEN = Path(__file__).parent / "golden"

each_example = pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)


def bound(path: Path) -> Script:
    """The statements of an example, with the functions of a Python file of the same name."""
    functions = path.with_suffix(".py")
    return bind_text(path.read_text(), path.name, catalog_of_files([str(functions)] if functions.exists() else []))


@each_example
def test_an_example_binds_without_errors(path: Path) -> None:
    script = bound(path)
    assert not script.errors, "\n\n".join(map(str, script.errors))
    assert script.queries, "an example asks something"


@each_example
def test_an_example_says_what_it_asks_in_a_few_lines(path: Path) -> None:
    header = re.match(r"(?:-- .*\n)+\n", path.read_text())
    assert header is not None, "an example opens with comments and an empty line"
    assert 1 <= header.group().count("-- ") <= 4


@each_example
def test_the_streams_of_an_example_can_be_read(path: Path) -> None:
    catalog = bound(path).catalog
    without_source = [stream.name for stream in catalog.streams if stream.connector is None]
    without_source += [table.name for table in catalog.tables if table.connector is None]
    assert not without_source, "USING ... OPTIONS (...) says where rows come from"


@each_example
def test_the_plans_of_an_example_are_as_in_its_golden_file(path: Path) -> None:
    plans = "\n\n".join(plan_text(normalise(query)) for query in bound(path).queries) + "\n"
    golden = GOLDEN / f"{path.stem}.txt"
    if os.environ.get("PENSTOCK_GOLDEN") == "rewrite":
        golden.write_text(plans)
    assert plans == golden.read_text()


def test_every_golden_file_belongs_to_an_example() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == {path.stem for path in EXAMPLES}
