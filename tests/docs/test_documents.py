"""Every fenced block of the documentation runs.

`python` is executed, or compared where it has `>>>`; under `<!-- on Spark -->` that is left to
`tests/engines/spark/test_documents_on_spark.py`. `sql` has to bind, after what the document declared
so far, user functions included; under `<!-- refused: words -->` it has to be refused with these words.
`console` runs each `$ penstock ...` and compares what it prints; a line `...` stands for any lines. A block with
`title="gain.sql"` is a file that the commands after it find. The other languages are only shown.
"""

import doctest
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NAMES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")
DOCUMENTS = [*(ROOT / name for name in NAMES), *sorted((ROOT / "docs").rglob("*.md"))]
RUN = frozenset({"python", "sql", "console"})
SHOWN = frozenset({"text", "json", "csv", "yaml", "toml", "sh", "mermaid"})

each_document = pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


@each_document
def test_every_block_names_its_language(path: Path) -> None:
    unknown = [
        f"{path.name}:{block.line}: {block.language or 'no language'}"
        for block in blocks(path.read_text())
        if block.language.removesuffix(f" {ON_SPARK}") not in RUN | SHOWN
    ]
    assert not unknown, f"use one of {', '.join(sorted(RUN | SHOWN))}"


@each_document
def test_every_block_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # Runs of other tests are not seen, and none of these is seen there. The path of a socket has to be short.
    with TemporaryDirectory(prefix="docs-") as sockets:
        monkeypatch.setenv("XDG_RUNTIME_DIR", sockets)
        run_blocks(path, tmp_path)


def run_blocks(path: Path, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    document = Document(path)
    for block in blocks(path.read_text()):
        try:
            document.run(block)
        except BaseException as failure:
            failure.add_note(f"in the block at {path.relative_to(ROOT)}:{block.line}")
            raise


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block; `line` is that of its fence, `refused` what the comment above it promises."""

    line: int
    language: str
    title: str | None
    refused: str | None
    text: str


FENCE = re.compile(r"(?P<indent>\s*)(?P<fence>`{3,}|~{3,})(?P<language>[\w+-]*)(?P<rest>.*)")
TITLE = re.compile(r'title="([^"]+)"')
#: What stands in a comment above a block that Spark runs.
ON_SPARK = "on Spark"
REFUSED = re.compile(r"\s*<!-- refused: (.+?) -->\s*")


def blocks(text: str) -> Iterator[Block]:
    above = ""
    lines = iter(enumerate(text.splitlines(), start=1))
    for number, line in lines:
        if opening := FENCE.fullmatch(line):
            body = []
            for _, inner in lines:
                if inner.strip().startswith(opening["fence"]) and not inner.strip().strip("`~"):
                    break
                body.append(inner.removeprefix(opening["indent"]) + "\n")
            else:
                raise AssertionError(f"line {number}: this block never ends")
            title = TITLE.search(opening["rest"])
            refused = REFUSED.fullmatch(above)
            language = (
                f"{opening['language']} {ON_SPARK}" if above.strip() == f"<!-- {ON_SPARK} -->" else opening["language"]
            )
            yield Block(number, language, title and title[1], refused and refused[1], "".join(body))
        above = line if line.strip() else above


@dataclass(slots=True)
class Document:
    """What the blocks so far left behind, for those that follow."""

    path: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    declarations: dict[str, str] = field(default_factory=dict)

    def run(self, block: Block) -> None:
        if block.title:
            show_file(block.title, block.text)
        match block.language:
            case "python" if ">>> " in block.text:
                self.compare_python(block)
            case "python":
                exec(compile("\n" * block.line + block.text, self.path, "exec"), self.names)
            case "sql":
                self.bind(block)
            case "console":
                for command, expected in commands(block.text):
                    compare_output(command, expected)

    def compare_python(self, block: Block) -> None:
        test = doctest.DocTestParser().get_doctest(block.text, self.names, self.path.name, str(self.path), block.line)
        report: list[str] = []
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        doctest.DocTestRunner(optionflags=flags).run(test, out=report.append, clear_globs=False)
        assert not report, "".join(report)
        self.names = test.globs

    def bind(self, block: Block) -> None:
        from penstock.catalog import Catalog
        from penstock.sql import bind_text

        declared, queries = split(block.text)
        known = self.declarations | declared
        catalog = reduce(Catalog.calling, declared_functions(self.names), Catalog())
        bound = bind_text("\n;\n".join([*known.values(), *queries]), str(self.path.relative_to(ROOT)), catalog)
        messages = [error.message for error in bound.errors]
        if block.refused:
            assert any(block.refused in message for message in messages), f"not refused: {messages}"
        else:
            assert not messages
            self.declarations = known


def declared_functions(names: dict[str, Any]) -> list[Any]:
    """The user functions among the names that Python blocks left behind."""
    from penstock.functions import user_function

    return [user_function(each) for each in names.values() if hasattr(each, "__penstock_function__")]


STATEMENT = re.compile(r"(?:[^;'\"-]|'[^']*'|\"[^\"]*\"|--.*|['\"-])+")
DECLARATION = re.compile(r"(?:\s|--.*)*CREATE\s+(?!QUERY\b)\w+\s+(\w+)", re.IGNORECASE)


def split(sql: str) -> tuple[dict[str, str], list[str]]:
    """The declarations by name, and the queries: later blocks see the former and may declare them anew."""
    declared, queries = {}, []
    for statement in STATEMENT.findall(sql):
        if declaration := DECLARATION.match(statement):
            declared[declaration[1].lower()] = statement
        elif re.sub(r"--.*", "", statement).strip():
            queries.append(statement)
    return declared, queries


def show_file(title: str, text: str) -> None:
    """A file of the project has to be shown as it is; any other is written for the commands to find."""
    if (ROOT / title).exists():
        assert text == (ROOT / title).read_text(), f"{title} is not what the project has"
    else:
        Path(title).parent.mkdir(parents=True, exist_ok=True)
        Path(title).write_text(text)


def commands(text: str) -> Iterator[tuple[str, list[str]]]:
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, *expected = part.rstrip().splitlines()
        assert command.startswith("penstock "), f"`{command}` cannot be run here: show it in a `sh` block"
        yield command, expected


def compare_output(command: str, expected: list[str]) -> None:
    printed = [line.rstrip() for line in output_of(command).rstrip().splitlines()]
    pattern = "".join(r"(?:.*\n)*" if line == "..." else re.escape(line) + r"\n" for line in expected)
    if not re.fullmatch(pattern, "".join(line + "\n" for line in printed)):
        assert printed == expected, command


def output_of(command: str) -> str:
    """What a command prints: in this process, which has all modules and kernels at hand, unless it needs more."""
    needs_a_shell = re.search(r"[|<>;&$*]", command)
    runs_on_spark = command.startswith("penstock run ") and "--engine embedded" not in command
    return of_a_shell(command) if needs_a_shell or runs_on_spark else of_this_process(shlex.split(command)[1:])


def of_a_shell(command: str) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    as_in_a_terminal = {"PATH": path, "PYTHONUNBUFFERED": "1", "NO_COLOR": "1"}
    done = subprocess.run(
        command,
        shell=True,
        check=False,
        env=os.environ | as_in_a_terminal,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.stdout


def of_this_process(arguments: list[str]) -> str:
    from penstock.cli import main

    with TemporaryFile("w+", encoding="utf-8") as printed:
        with redirect_stdout(printed), redirect_stderr(printed), suppress(SystemExit):
            main(arguments)
        printed.seek(0)
        return printed.read()
