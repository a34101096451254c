"""Executors of a cluster on one machine whose Python lacks Penstock: the query does not start, and says what to do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import penstock

SOURCES = Path(penstock.__file__).parents[1]

#: The driver finds Penstock by its own path, which executors do not inherit as they would inherit PYTHONPATH.
DRIVER = """
import sys
sources, archive = sys.argv[1:]
sys.path.insert(0, sources)
from pyspark.sql import SparkSession
import penstock
settings = {"spark.ui.enabled": "false"}
if archive:
    builder = SparkSession.builder.master("local-cluster[1,1,1024]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.addPyFile(archive)
else:
    spark = penstock.spark_session("local-cluster[1,1,1024]", **settings)
session = penstock.Session(spark)
session.stream("tick", spark.readStream.format("rate").load(), timestamp="timestamp")
try:
    session.query("SELECT ISTREAM(value) FROM tick [NOW]").start("out.parquet", checkpoint="checkpoint", cells=1)
except penstock.PenstockError as error:
    print(error)
"""


def said(folder: Path, python: Path, archive: str = "") -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PYSPARK_PYTHON"] = str(python)
    command = [sys.executable, "-c", DRIVER, str(SOURCES), archive]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A Python without any package, as hosts of a cluster have it."""
    venv.create(tmp_path / "bare", with_pip=False)
    return tmp_path / "bare" / "bin" / "python"


@pytest.mark.slow
def test_workers_without_penstock_are_named_before_the_query_starts(tmp_path: Path, bare: Path) -> None:
    found = said(tmp_path, bare)
    assert "Spark's workers" in found
    assert "cannot import penstock" in found
    assert "--archives environment.tar.gz#environment" in found
    assert "ModuleNotFoundError" not in found


@pytest.mark.slow
def test_an_archive_that_a_job_adds_does_not_bring_penstock(tmp_path: Path, bare: Path) -> None:
    archive = shutil.make_archive(str(tmp_path / "more"), "zip", SOURCES, "penstock")
    found = said(tmp_path, bare, archive)
    assert "cannot import numba" in found
    assert "--archives environment.tar.gz#environment" in found
    assert "archive of --py-files" in said(tmp_path, Path(sys.executable), archive)
