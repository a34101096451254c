"""What `make demo` shows: a query checked, explained, broken on purpose, and put in order."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

EXAMPLES = Path(__file__).parent

BROKEN = """\
CREATE STREAM reading (sensor STRING, celsius DOUBLE, ts TIMESTAMP) TIMESTAMP BY ts;

CREATE QUERY hottest AS
SELECT sensor, ts, MAX(celcius) AS top
FROM reading [RANGE 10 MINUTES]
WHERE ts > NOW() AND sensor = 7
GROUP BY sensor;
"""

MESSY = """\
create stream reading(sensor string, -- which one
celsius double,ts timestamp)timestamp by ts delay 90 seconds;
select rstream(sensor, max(celsius) as top) from reading[range 600 seconds] group by sensor
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        shutil.copy(EXAMPLES / "quickstart.sql", here)
        (here / "broken.sql").write_text(BROKEN)
        (here / "messy.sql").write_text(MESSY)

        say("A file declares streams and tables, with what is known about them, and asks queries.")
        show("quickstart.sql", (here / "quickstart.sql").read_text())
        say("Is it well formed?")
        penstock("check quickstart.sql", here)
        say("How is it understood? Each query in normal form: what it reads through which windows, and what it gives.")
        penstock("explain quickstart.sql", here)

        say("A query with four mistakes. All are found at once, and each says what to write instead.")
        show("broken.sql", BROKEN)
        penstock("check broken.sql", here)

        say("And one that is right, but hard to read.")
        show("messy.sql", MESSY)
        penstock("fmt messy.sql", here)
        say("More examples are in examples/, and every clause of the language is in docs/language.md.", last=True)


def say(text: str, last: bool = False) -> None:
    print(bold(textwrap.fill(text, 100)), end="\n" if last else "\n\n", flush=True)


def show(name: str, text: str) -> None:
    print(faint(f"-- {name}"))
    print(f"{text.strip()}\n", flush=True)


def penstock(command: str, folder: Path) -> None:
    """Runs a command as a user would, and prints both."""
    print(bold(f"$ penstock {command}"), flush=True)
    subprocess.run([sys.executable, "-m", "penstock.cli", *command.split()], cwd=folder, check=False)
    print(flush=True)


def bold(text: str) -> str:
    return f"\033[1m{text}\033[0m" if sys.stdout.isatty() else text


def faint(text: str) -> str:
    return f"\033[2m{text}\033[0m" if sys.stdout.isatty() else text


if __name__ == "__main__":
    main()
