"""The rooms of the house import in one direction only, and the language needs nothing but sqlglot.

The table is the one of ARCHITECTURE.md. An import inside a function or under TYPE_CHECKING counts like any other.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HOUSE = ROOT / "src" / "penstock"

LANGUAGE = ("masking", "errors", "effort", "types", "algebra", "catalog", "sql")
#: What is worked out of a query before it runs.
DERIVED = ("closing", "register", "elimination", "plan")

#: Each room, and those that it may import besides itself.
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "masking": (),
    "errors": ("masking",),
    "effort": ("errors",),
    "types": (),
    "algebra": ("errors", "effort", "types"),
    "catalog": ("masking", "errors", "types", "algebra"),
    "sql": ("errors", "effort", "types", "algebra", "catalog"),
    "functions": ("errors", "types", "algebra", "catalog", "sql"),
    "closing": ("errors", "effort", "types", "algebra", "catalog"),
    "register": ("errors", "effort", "types", "algebra", "catalog", "closing"),
    "elimination": ("errors", "effort", "types", "algebra", "catalog", "closing", "register"),
    "plan": ("errors", "effort", "types", "algebra", "catalog", "closing", "register", "elimination"),
    "kernels": (),
    "synopsis": ("errors", "types", "kernels"),
    "retention": ("errors", "types", "algebra", "closing", "plan", "kernels", "synopsis"),
    "operators": ("masking", "errors", "types", "algebra", "closing", "plan", "kernels", "synopsis", "retention"),
    "adaptive": ("errors", "types", "algebra", "catalog", "plan", "kernels", "synopsis", "operators"),
    "engines": (*LANGUAGE, "functions", *DERIVED, "kernels", "synopsis", "retention", "operators", "adaptive"),
    "profiling": (*LANGUAGE, "closing", "register", "kernels", "synopsis", "engines"),
    "monitor": (*LANGUAGE, "closing", "register", "plan", "operators", "adaptive", "engines"),
    "verdicts": (*LANGUAGE, "functions", "closing", "register", "elimination", "engines"),
    "session": (*LANGUAGE, "functions", *DERIVED, "engines", "monitor"),
    "workloads": LANGUAGE,
    "cli": (
        *LANGUAGE,
        "functions",
        *DERIVED,
        "engines",
        "profiling",
        "monitor",
        "session",
        "workloads",
        "__init__",
    ),
    # What `import penstock` offers.
    "__init__": (*LANGUAGE, "functions", "closing", "register", "elimination", "plan", "verdicts", "session"),
}

#: Libraries from outside, and the only rooms that may import them.
ONLY_IN: dict[str, tuple[str, ...]] = {
    "sqlglot": ("sql",),
    "numba": ("kernels",),
    "llvmlite": ("kernels",),
    "numpy": ("kernels", "synopsis", "retention", "operators", "adaptive", "engines", "profiling", "workloads"),
    "pyarrow": ("synopsis", "operators", "engines", "profiling", "workloads"),
    "pyspark": ("engines", "workloads"),
    "starlette": ("monitor",),
    "uvicorn": ("monitor",),
}

FILES = sorted(HOUSE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(HOUSE).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """The line and the full name of each module that a file imports, or of a thing in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, name.name) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are written out in full"
            yield from ((node.lineno, f"{node.module}.{name.name}") for name in node.names)


def room_imported(name: str) -> str | None:
    """The room of ours that an import leads to; what is not a room comes from `penstock/__init__.py`."""
    package, _, rest = name.partition(".")
    if package != "penstock":
        return None
    room = rest.partition(".")[0]
    return room if room in MAY_IMPORT else "__init__"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HOUSE)))
def test_a_file_imports_only_rooms_that_its_own_may_import(path: Path) -> None:
    room = room_of(path)
    assert room in MAY_IMPORT, f"{room} is a new room: say here and in ARCHITECTURE.md what it may import"
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for line, name in imports(path)
        if room_imported(name) not in (None, room, *MAY_IMPORT[room])
        or room not in ONLY_IN.get(name.partition(".")[0], (room,))
    ]
    assert not wrong


def test_neither_engine_imports_the_other() -> None:
    """What both need stands beside them in `engines/`."""
    spark = [path for path in FILES if "spark" in path.relative_to(HOUSE).parts]
    shared = [path for path in FILES if room_of(path) == "engines" and path not in spark]
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for paths, other in ((spark, "penstock.engines.embedded"), (shared, "penstock.engines.spark"))
        for path in paths
        for line, name in imports(path)
        if name.startswith(other)
    ]
    assert not wrong


def test_the_rooms_have_an_order() -> None:
    """Each room stands below all that it imports, so there is no circle."""
    rooms = list(MAY_IMPORT)
    below = [(room, other) for room in rooms for other in MAY_IMPORT[room] if rooms.index(other) >= rooms.index(room)]
    assert below == [("cli", "__init__")]  # the version


@pytest.mark.parametrize("program", ["import penstock", "import penstock.cli", "from penstock.algebra import rewrites"])
def test_the_language_loads_no_library_for_data(program: str) -> None:
    data = {"numpy", "pyarrow", "pyspark", "numba", "pandas", "py4j", "duckdb"}
    loaded = f"{program}; import sys; print(*sorted({data} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", loaded], check=True, capture_output=True, text=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize("document", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_a_document_names_every_room(document: str) -> None:
    """In tables, where a room is named in the first column."""
    rows = re.findall(r"^\| (`[^|]+)\|", (ROOT / document).read_text(), flags=re.MULTILINE)
    named = {name.rstrip("/").removesuffix(".py") for row in rows for name in re.findall(r"`([\w./]+)`", row)}
    assert set(MAY_IMPORT) - {"__init__"} <= named


@pytest.mark.parametrize("document", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_the_files_that_a_document_names_are_there(document: str) -> None:
    named = re.findall(r"`([\w./]+\.py)`", (ROOT / document).read_text())
    assert [
        name for name in named if not (ROOT / "src" / "penstock" / name).exists() and not (ROOT / name).exists()
    ] == []
