"""`make demo` runs what it says, and shows the errors that it promises."""

import re
import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).parents[2] / "examples" / "demo.py"


def test_the_demo_shows_each_command_and_what_it_prints() -> None:
    done = subprocess.run([sys.executable, DEMO, "--no-spark"], check=True, capture_output=True, text=True)
    run = "run quickstart.sql --engine embedded --query highest --until-done"
    commands = ["check quickstart.sql", "explain quickstart.sql", run, "check broken.sql", "fmt messy.sql"]
    assert re.findall(r"^\$ penstock (.*)$", done.stdout, flags=re.MULTILINE) == commands
    assert re.findall(r"^broken.sql:(\d+):\d+: ", done.stderr, flags=re.MULTILINE) == ["4", "4", "6", "6"]
    assert "\033" not in done.stdout
