"""The blocks of the documentation that stand under `<!-- on Spark -->` run on Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock
from tests.docs.test_documents import DOCUMENTS, ON_SPARK, ROOT, blocks

HAVE_BLOCKS = [path for path in DOCUMENTS if f"<!-- {ON_SPARK} -->" in path.read_text()]


@pytest.mark.parametrize("path", HAVE_BLOCKS, ids=lambda path: str(path.relative_to(ROOT)))
def test_its_blocks_run(spark: SparkSession, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__", "penstock": penstock, "spark": spark}
    for block in blocks(path.read_text()):
        if block.language == f"python {ON_SPARK}":
            exec(compile("\n" * block.line + block.text, path, "exec"), names)
