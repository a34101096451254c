"""All programs of the corpus, in the order in which their records stand."""

from __future__ import annotations

from tests.engines.spark.lint.programs import PROGRAMS, Program
from tests.engines.spark.lint.public_programs import PUBLIC

CORPUS: dict[str, Program] = {**PROGRAMS, **PUBLIC}
