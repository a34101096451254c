"""Python processes of Spark's import pyspark from where it is installed, and run the user's own `sitecustomize`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

import penstock.engines.spark.session
from penstock.errors import PenstockError

LIB = Path(pyspark.__file__).parent / "python" / "lib"
STARTUP = Path(penstock.engines.spark.session.__file__).parent / "startup"


def _printed(code: str, *path: Path) -> list[str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, path))}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()


def test_pyspark_comes_from_its_folder() -> None:
    code = "import pyspark.util, py4j; print(pyspark.__file__, py4j.__file__)"
    archives = sorted(LIB.glob("*.zip"))
    assert any(".zip" in place for place in _printed(code, *archives))
    assert not any(".zip" in place for place in _printed(code, *archives, STARTUP))


def test_an_archive_without_its_folder_stays(tmp_path: Path) -> None:
    elsewhere = tmp_path / "pyspark" / "python" / "lib" / "pyspark.zip"
    elsewhere.parent.mkdir(parents=True)
    elsewhere.write_bytes((LIB / "pyspark.zip").read_bytes())
    assert _printed("import sys; print(*sys.path)", elsewhere, STARTUP)[0] == str(elsewhere)


def test_the_next_sitecustomize_runs(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('mine')")
    assert _printed("import sys; print('sitecustomize' in sys.modules)", STARTUP, tmp_path) == ["mine", "True"]
    assert _printed("import sys; print('sitecustomize' in sys.modules)", STARTUP) == ["True"]


def test_a_master_that_is_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def exited(self: SparkSession.Builder) -> SparkSession:
        raise PySparkRuntimeError("[JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port number.")

    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", exited)
    with pytest.raises(PenstockError, match=r"^Spark does not start with the master nonsense: Java gateway process"):
        penstock.engines.spark.session.spark_session("nonsense")


def test_executors_of_a_local_cluster_get_the_path_of_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their environment replaces the driver's, so workers would import another Penstock."""
    monkeypatch.setenv("PYTHONPATH", "/of/the/driver")
    assert penstock.engines.spark.session._own_locally() == {
        "spark.executorEnv.PYTHONPATH": f"{STARTUP}{os.pathsep}/of/the/driver"
    }
    monkeypatch.delenv("PYTHONPATH")
    assert penstock.engines.spark.session._own_locally() == {"spark.executorEnv.PYTHONPATH": str(STARTUP)}
