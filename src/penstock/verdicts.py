"""Verdicts from Python: is the state of the queries of a text, of a file, or of a plain Spark DataFrame bounded?

And what do the declarations of a text imply?
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from penstock.catalog import AssertionDef, Catalog
from penstock.effort import limited
from penstock.elimination import Implication, implication, verdict_of
from penstock.errors import PenstockError
from penstock.functions import user_function
from penstock.register import Verdict
from penstock.sql import Script, bind_text

if TYPE_CHECKING:
    from penstock.engines.spark.lint.guard import Guard


@overload
def check(what: str | Path, *, effort: int | None = None, functions: Iterable[Any] = ()) -> list[Verdict]: ...


@overload
def check(
    what: Any,
    *,
    effort: int | None = None,
    functions: Iterable[Any] = (),
    output_mode: str | None = None,
    finite: Iterable[str] = (),
) -> list[Any]: ...


def check(
    what: Any,
    *,
    effort: int | None = None,
    functions: Iterable[Any] = (),
    output_mode: str | None = None,
    finite: Iterable[str] = (),
) -> list[Any]:
    """Returns a verdict on each query of a text or file of SQL, on a query of a session, or on a streaming DataFrame.

    A verdict says whether the state of the query is bounded, and if not, what would bound it. Nothing runs, and only a
    DataFrame needs Spark. Errors in the SQL are raised, all of them at once, as `SqlErrors`.

    A query whose verdict takes more than `effort` steps of work is not called safe. `functions` are the functions that
    the SQL may call, decorated with `penstock.function`.

    Of a DataFrame, or of its writer, `output_mode` is the mode to judge, and `finite` names columns that take few
    values, which no plan shows. Append and update are judged where no mode is given.

    >>> import penstock
    >>> (verdict,) = penstock.check(
    ...     "CREATE STREAM s (a BIGINT, ts TIMESTAMP) TIMESTAMP BY ts; SELECT DISTINCT a FROM s"
    ... )
    >>> verdict.safe
    False
    >>> print(verdict)
    query: not safe
    <text>:1:75: one row is kept for every value of s.a, and nothing says that there are finitely many or that they end
        CREATE STREAM s (a BIGINT, ts TIMESTAMP) TIMESTAMP BY ts; SELECT DISTINCT a FROM s
                                                                                  ^
    why: suppose N rows arrive, each with its own a: the next may be like any of them
    any of these would make it safe:
      1. ALTER STREAM s ADD UNIQUE (a);
      2. ALTER STREAM s ADD PUNCTUATED BY (a);
      3. ALTER STREAM s ADD CLUSTERED BY (a) WITHIN 1000 ROWS;
      4. s [RANGE 1 HOUR]

    ```python
    clicks = spark.readStream.format("rate").load().toDF("at", "ad").withWatermark("at", "10 minutes")
    (verdict,) = penstock.check(clicks.groupBy("ad").count(), output_mode="update")
    assert not verdict.safe
    (verdict,) = penstock.check(clicks.groupBy("ad").count(), output_mode="update", finite=["ad"])
    assert verdict.safe
    ```
    """
    if type(what).__module__.startswith("pyspark.sql"):
        from penstock.engines.spark.lint import check_spark  # noqa: PLC0415

        return [check_spark(what, output_mode, finite)]
    with limited(effort):
        return _checked(what, functions)


def _checked(what: Any, functions: Iterable[Any]) -> list[Verdict]:
    if isinstance(what, str | Path):
        return _check_text(what, functions)
    verdict = getattr(what, "verdict", None)
    if isinstance(verdict, Verdict):
        return [verdict]
    message = f"{type(what).__name__} cannot be checked"
    raise PenstockError(message, "give SQL, the path of a file with SQL, a query, or a streaming DataFrame")


def check_sql(spark: Any, text: str, *, output_mode: str | None = None, finite: Iterable[str] = ()) -> Any:
    """Returns the verdict on a query of Spark SQL over streaming views of a SparkSession, as `check` does.

    ```python
    spark.readStream.format("rate").load().createOrReplaceTempView("ticks")
    verdict = penstock.check_sql(spark, "SELECT value % 10, count(*) FROM ticks GROUP BY 1", output_mode="update")
    assert verdict.safe
    ```
    """
    return check(spark.sql(text), output_mode=output_mode, finite=finite)[0]


def guard(spark: Any, unsafe: str = "warn", finite: Iterable[str] = ()) -> Guard:
    """Checks every streaming query of plain PySpark before it starts, from now on.

    Of an unsafe query it warns, with `UnboundedState`; with `unsafe="refuse"` it raises `UnsafeStream`, and the query
    does not start. `finite` names columns that take few values. The guard ends with `remove()`, or with the `with`
    block that it opens.

    ```python
    ticks = spark.readStream.format("rate").load()
    with penstock.guard(spark, unsafe="refuse"):
        try:
            ticks.groupBy("value").count().writeStream.format("noop").outputMode("update").start()
        except penstock.UnsafeStream as refused:
            assert "one group is kept for every value of value" in str(refused)
    ```
    """
    from penstock.engines.spark.lint.guard import guard as guarding  # noqa: PLC0415

    return guarding(spark, unsafe, finite)


def implies(
    what: str | Path, assertion: str, *, effort: int | None = None, functions: Iterable[Any] = ()
) -> Implication:
    """Returns whether the declarations of a text or file of SQL imply an assertion, with a proof or a counter-model.

    The assertion is the name of one that the text declares, which the others are to imply, or the text of one: all of
    CREATE ASSERTION, or what follows its name, from FOR on. The answer is true in a condition if it is implied.

    >>> import penstock
    >>> text = '''
    ...     CREATE STREAM request (id BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
    ...     CREATE STREAM answer (id BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
    ...     CREATE ASSERTION asked FOR answer a THEN EXISTS request r WHERE r.id = a.id AND r.ts < a.ts;
    ... '''
    >>> print(penstock.implies(text, "FOR answer a THEN a.id IS NOT NULL"))
    goal: implied
    suppose rows answer a
    by asked of a: there is request r1 with r1.id = a.id and r1.time - a.time <= -1
    so the conclusion holds
    >>> print(penstock.implies(text, "FOR request r THEN EXISTS answer a WHERE a.id = r.id"))
    goal: not implied
    these rows satisfy the declarations, and not the assertion:
    -- request
    id,ts
    \\N,1970-01-01 00:00:00.000001
    """
    script = _bound(what, functions)
    with limited(effort):
        return implication(_asked(assertion, script), script.catalog)


def _asked(assertion: str, script: Script) -> AssertionDef:
    known = script.catalog.get(assertion.strip())
    if isinstance(known, AssertionDef):
        return known
    words = assertion.split()
    if not words or words[0].upper() not in ("FOR", "CREATE"):
        raise PenstockError(f"there is no assertion {assertion}", "write FOR stream x, ... WHERE ... THEN ...")
    text = assertion if words[0].upper() == "CREATE" else f"CREATE ASSERTION goal {assertion}"
    bound = bind_text(text, "<assertion>", script.catalog).checked()
    new = [d for d in bound.catalog.definitions.values() if script.catalog.get(d.name) is not d]
    if len(new) != 1 or not isinstance(new[0], AssertionDef):
        raise PenstockError("this is not an assertion", "write CREATE ASSERTION name FOR ... THEN ...")
    return new[0]


def _check_text(what: str | Path, functions: Iterable[Any]) -> list[Verdict]:
    script = _bound(what, functions)
    catalog = script.catalog
    return [verdict_of(query, catalog, script.origin(query)) for query in script.queries]


def _bound(what: str | Path, functions: Iterable[Any]) -> Script:
    text, file = _text_of(what)
    catalog = Catalog()
    for each in functions:
        catalog = catalog.calling(user_function(each))
    return bind_text(text, file, catalog).checked()


def _text_of(what: str | Path) -> tuple[str, str]:
    """The text of SQL, or of a file with SQL, and the file's name."""
    if isinstance(what, Path) or _names_a_file(what):
        try:
            return Path(what).read_text(encoding="utf-8-sig"), str(what)
        except (OSError, UnicodeDecodeError) as error:
            raise PenstockError(f"{what}: {error}", "give the path of a file with SQL statements") from error
    return str(what), "<text>"


def _names_a_file(text: str) -> bool:
    return "\n" not in text and ";" not in text and len(text) < 1000 and Path(text).is_file()
