"""`make demo` runs what it says, draws what is kept, and shows the errors that it promises."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[2] / "examples" / "demo.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def shown(folder: Path) -> str:
    command = [sys.executable, DEMO, "--no-spark", "--out", folder]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout


def test_the_demo_shows_each_command_and_what_it_prints(shown: str) -> None:
    commands = re.findall(r"^\$ penstock (.*)$", shown, flags=re.MULTILINE)
    assert [command.partition(" --")[0] for command in commands] == [
        "check auction.sql",
        "check declared.sql",
        "run",
        "check broken.sql",
    ]
    assert "offers: not safe" in shown
    assert "offers: safe, at most auctions not yet closed" in shown
    assert re.findall(r"^broken.sql:(\d+):\d+: ", shown, flags=re.MULTILINE) == ["4", "4", "6", "6"]
    assert "\033" not in shown


def test_the_demo_shows_times_as_times(shown: str) -> None:
    assert len(re.findall(r"^  at 0:2\d:\d\d\.\d+: \d+ by \d+ for item \d+$", shown, flags=re.MULTILINE)) == 3


def test_the_demo_draws_a_state_that_stays_small(shown: str, folder: Path) -> None:
    assert re.search(r"^199,\d{3} rows in, 176,\d{3} rows out", shown, flags=re.MULTILINE)
    assert "● Penstock, auctions closed by a row: " in shown
    page = (folder / "demo.html").read_text()
    assert str(folder / "demo.html") in shown
    assert "<polyline" in page
    most = re.search(r"closed by a row</td><td>([\d,]+)</td>", page)
    assert most is not None
    assert int(most[1].replace(",", "")) < 20_000
    assert (folder / "run.html").exists()
