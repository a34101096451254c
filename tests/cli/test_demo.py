"""`make demo` runs what it says, and shows the errors that it promises."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[2] / "examples" / "demo.py"


@pytest.fixture(scope="module")
def shown() -> str:
    command = [sys.executable, DEMO, "--no-spark"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout


def test_the_demo_shows_each_command_and_what_it_prints(shown: str) -> None:
    run = "run quickstart.sql --engine embedded --query highest --until-done"
    commands = re.findall(r"^\$ penstock (.*)$", shown, flags=re.MULTILINE)
    assert commands[:5] == [
        "check quickstart.sql",
        "explain quickstart.sql",
        run,
        "check growing.sql",
        "check shrinking.sql",
    ]
    assert [command.partition(" --")[0] for command in commands[5:7]] == ["run", "run"]
    assert commands[7:] == ["check broken.sql", "fmt messy.sql"]
    assert re.findall(r"^broken.sql:(\d+):\d+: ", shown, flags=re.MULTILINE) == ["4", "4", "6", "6"]
    assert "\033" not in shown


def test_the_demo_shows_a_state_that_shrinks(shown: str) -> None:
    table = re.findall(r"^ *([\d,]+) +([\d,]+) +([\d,]+)$", shown, flags=re.MULTILINE)
    read, growing, shrinking = zip(*([int(cell.replace(",", "")) for cell in row] for row in table), strict=True)
    assert read == (80_000, 160_000, 240_000, 320_000, 400_000)
    assert growing[0] < growing[-2]
    assert max(shrinking) < growing[-2] / 2
    assert len(re.findall(r"^399,993 rows in, 352,935 rows out", shown, flags=re.MULTILINE)) == 2
