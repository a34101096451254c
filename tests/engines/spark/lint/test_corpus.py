"""The lint says of each program of the corpus what Spark was seen to do with it."""

from __future__ import annotations

import json

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import penstock
from tests.engines.spark.lint.corpus import CORPUS
from tests.engines.spark.lint.record import RECORDED, observe
from tests.engines.spark.lint.sources import Streams

SEEN = json.loads(RECORDED.read_text())


def said(spark: SparkSession, name: str) -> str:
    program = CORPUS[name]
    try:
        df = program.build(Streams(spark))
    except PySparkException:
        return "refused"
    (verdict,) = penstock.check(df, output_mode=program.mode, finite=program.finite)
    return "refused" if verdict.refusal is not None else "flat" if verdict.safe else "grows"


@pytest.mark.parametrize("name", SEEN)
def test_the_lint_agrees_with_spark(spark: SparkSession, name: str) -> None:
    assert said(spark, name) == SEEN[name]["spark"]


@pytest.mark.parametrize("name", [name for name, seen in SEEN.items() if seen["spark"] == "refused"])
def test_a_refusal_says_why_in_a_sentence(spark: SparkSession, name: str) -> None:
    program = CORPUS[name]
    try:
        df = program.build(Streams(spark))
    except PySparkException:
        return
    (verdict,) = penstock.check(df, output_mode=program.mode)
    assert verdict.message.startswith("Spark refuses it: ")
    assert "#" not in verdict.message
    assert not verdict.safe


def test_every_program_was_seen_on_spark() -> None:
    assert list(SEEN) == list(CORPUS)
    assert len(SEEN) >= 150


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SEEN)[::20])
def test_spark_still_does_what_was_recorded(spark: SparkSession, name: str) -> None:
    program = CORPUS[name]
    try:
        seen = observe(program.build(Streams(spark)), program.mode)
    except PySparkException:
        seen = {"spark": "refused"}
    assert seen["spark"] == SEEN[name]["spark"]
