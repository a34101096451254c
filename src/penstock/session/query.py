"""Queries from Python: judged, explained, run in this process, or started on Spark."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from datetime import timedelta
from html import escape
from typing import TYPE_CHECKING, Any

from penstock.algebra.printing import plan_text
from penstock.algebra.relations import Query as BoundQuery
from penstock.algebra.relations import Schema
from penstock.algebra.rewrites import normalise
from penstock.effort import limited
from penstock.elimination import running, verdict_of
from penstock.engines.metric_lines import Metrics
from penstock.engines.planning import require_cells
from penstock.errors import Origin, PenstockError
from penstock.plan.adaptivity import FULL, Adaptive
from penstock.plan.decisions import Decision, latest_decisions
from penstock.plan.early import with_early
from penstock.plan.explain import fragments_text
from penstock.plan.forgetting import EAGER, Forgetting
from penstock.plan.fragments import Plan
from penstock.plan.planner import plan
from penstock.register import UnusedProof, Verdict, refuse_unsafe
from penstock.session.given_times import idle_time
from penstock.session.open_query import OpenQuery
from penstock.session.provided import collected, is_live
from penstock.sql.system_streams import reads_sysstream
from penstock.types import parsed_bytes

if TYPE_CHECKING:  # libraries for data are loaded when they are needed
    from penstock.engines.spark.query import RunningQuery
    from penstock.monitor.control import Controls
    from penstock.monitor.page.recorder import Recorder
    from penstock.session.session import Session


class Query:
    """A query of a session: it can be judged, explained, run in this process, or started on Spark.

    `session.query` and `session.sql` return it. A query that is not safe raises `UnsafeQuery` when it is to run.

    >>> import penstock, pyarrow as pa
    >>> session = penstock.Session()
    >>> session.stream("bid", pa.table({"item": [1, 2, 1], "price": [10, 25, 30], "ts": [1, 2, 3]}), timestamp="ts")
    >>> query = session.query("SELECT item, price FROM bid WHERE price > 20")
    >>> query
    <query query: item BIGINT, price BIGINT>
    >>> print(query.verdict)
    query: safe, it keeps nothing
    >>> query.to_arrow().num_rows
    2
    """

    def __init__(
        self, session: Session, bound: BoundQuery, origin: Origin | None = None, effort: int | None = None
    ) -> None:
        self._effort = effort
        self._session = session
        self.bound = bound
        self._origin = origin
        #: Metrics of the last run in this process, and the last query that was started on Spark, or as a DataFrame.
        self._metrics: list[dict[str, Any]] = []
        self._started: Any = None
        #: What takes metrics for the page of the session.
        self._page: Recorder | None = None
        #: The last micro-batch of it that was published, and what can be changed while it runs.
        self._told = -1
        self._controls: Controls | None = None
        #: The verdict with which it was last let run.
        self._admitted: Any = None
        #: The plan by which it runs, or ran last.
        self._planned: Any = None

    @property
    def name(self) -> str:
        """The name of the query; `query` if it has none."""
        return self.bound.name

    @property
    def schema(self) -> Schema:
        """The columns of the select list, each with its name and type."""
        return self.bound.schema

    @property
    def verdict(self) -> Verdict:
        """The verdict, given all that has been declared by now: is its state bounded?"""
        with limited(self._effort):
            catalog = self._session.catalog
            return verdict_of(self.bound, catalog, self._origin)

    def explain(self, cells: int | None = None, *, early: bool = False) -> str:
        """Returns the plan as a picture, and which joins are not run; with a number of cells its fragments too.

        With `early` it says whether results can come before the watermark.
        """
        with limited(self._effort):
            runs = running(self.bound, self._session.catalog)
            asked = normalise(with_early(self.bound, early=early))
            how = plan(asked, 1, self._session.catalog).last.early if asked.early else None
            planned = None
            if cells is not None:
                require_cells(cells)
                planned = plan(asked, cells, self._session.catalog)
        picture = "\n".join([plan_text(runs.shown), *runs.lines(), *([] if how is None else [f"results: {how}"])])
        return picture if planned is None else f"{picture}\n\n{fragments_text(planned)}"

    def run(
        self,
        *,
        cells: int = 1,
        horizon: int | None = None,
        early: bool = False,
        forgetting: Forgetting = EAGER,
        adaptive: Adaptive = FULL,
    ) -> Iterator[Any]:
        """Runs in this process over all rows that there are, and yields Arrow tables of changes as they come.

        A table has `_ts`, `_op` and the select list. `cells` are the parts into which state is cut; `horizon` is the
        last instant, in microseconds, and by default the largest timestamp. A query over `sysstream` yields what the
        other queries of the session have published so far.
        With `early` results come as soon as their rows are there, in no order of time, where that changes none.
        """
        from penstock.engines.embedded_run import open_run  # noqa: PLC0415
        from penstock.monitor.control import Controls  # noqa: PLC0415

        self._admit()
        if reads_sysstream(self.bound):
            yield from self._published()
            return
        self._metrics, self._started = [], None
        handed = {name: collected(name, data) for name, data in self._session.data.items()}
        with limited(self._effort):
            running = open_run(
                [with_early(self.bound, early=early)],
                self._session.catalog,
                handed,
                cells=cells,
                horizon=horizon,
                forgetting=forgetting,
                adaptive=adaptive,
            )
        self._controls = Controls(running.engines)
        running.between_steps = self._controls.apply
        self._planned = running.engines[0].plan
        self._page = self._recorder(self._planned, "embedded")
        try:
            for result in running.results():
                assert result is not None
                if result.ends_step:
                    self._stepped(result.engine.metrics())
                if result.rows.num_rows:
                    yield result.rows
        finally:
            self._controls = None
            if self._page is not None:
                self._page.end()

    def open(
        self,
        *,
        cells: int = 1,
        horizon: int | None = None,
        memory: int | str | None = None,
        scheduling: str = "chain",
        idle: int | str | timedelta | None = None,
        early: bool = False,
        forgetting: Forgetting = EAGER,
        adaptive: Adaptive = FULL,
    ) -> OpenQuery:
        """Runs it in this process on rows that are pushed, by `session.push`, until it is finished or closed.

        `memory` is what waiting rows may take, such as '512MB', and `scheduling` says which of them are worked on
        first: 'chain', 'greedy' or 'fifo'. Time goes on without a stream that has been quiet for `idle`, such as
        '30 SECONDS'.
        With `early` results come as soon as their rows are there, in no order of time, where that changes none.

        >>> import penstock, pyarrow as pa
        >>> session = penstock.Session()
        >>> _ = session.sql("CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts")
        >>> with session.query("SELECT ISTREAM(a) FROM s [NOW]").open() as running:
        ...     session.push("s", pa.table({"a": [7, 8], "ts": [1, 2]}))
        ...     print([row["a"] for part in running.finish() for row in part.to_pylist()])
        [7, 8]
        """
        from penstock.engines.planning import plan_of  # noqa: PLC0415
        from penstock.engines.queued_run import open_queued  # noqa: PLC0415
        from penstock.monitor.control import Controls  # noqa: PLC0415

        self._admit()
        self._refuse_sysstream()
        catalog = self._session.catalog
        handed = {name: collected(name, data) for name, data in self._session.data.items() if not is_live(data)}
        with limited(self._effort):
            asked = with_early(self.bound, early=early)
            planned = self._planned = plan_of(asked, catalog, cells, forgetting, adaptive)
        run = open_queued(planned, catalog, handed, horizon, self._admitted.bound.size, idle=idle_time(idle))
        self._metrics, self._started = [], None
        self._controls = Controls([run.engine])
        if scheduling != run.engine.settings.scheduling:
            self._controls.set("scheduling", scheduling)
        if memory is not None:
            self._controls.set("memory", str(memory))
        self._controls.apply()
        run.between_steps = self._controls.apply
        self._page = self._recorder(planned, "embedded")
        opened = OpenQuery(self, run)
        self._session._open.append(opened)
        return opened

    def _stepped(self, lines: list[Any]) -> None:
        """Keeps the metrics of a step, and publishes them if a query of the session reads them."""
        self._metrics += [metric.as_json() for metric in lines]
        watching = self._session._watching
        if watching is not None:
            watching.take(self._admitted, self._planned, lines)
        if self._page is not None:
            self._page.take(lines)

    def _recorder(self, planned: Plan, engine: str) -> Recorder | None:
        """Returns what takes the metrics of a run for the session's page, if there is one."""
        page = self._session.page
        if page is None:
            return None
        from penstock.monitor.bounds import live_bounds  # noqa: PLC0415
        from penstock.monitor.page.asked import Asked  # noqa: PLC0415
        from penstock.monitor.page.plan_document import plan_document  # noqa: PLC0415
        from penstock.monitor.page.recorder import Recorder  # noqa: PLC0415

        left_out = tuple(map(str, running(self.bound, self._session.catalog).eliminations))
        asked = Asked(self.bound, planned, self._admitted, self._origin, left_out)
        bounds = {self.name: live_bounds(self._admitted, planned)}
        recorder = Recorder(plan_document(self.name, engine, [asked]), controls=self._controls, bounds=bounds)
        page.show(recorder)
        return recorder

    def _published(self) -> Iterator[Any]:
        """Yields what a query over `sysstream` has to say by now."""
        watching = self._session._watching
        assert watching is not None
        for query in self._session._queries.values():
            if query._started is not None:
                lines = query._started.operators(after=query._told)
                query._told = max((line.step for line in lines), default=query._told)
                watching.take(query._admitted, query._planned, lines)
        yield from watching.changes(self.name)

    @property
    def controls(self) -> Controls:
        """What can be changed while the query runs: in this process during `run`, on Spark once it is started."""
        if self._controls is None:
            raise PenstockError(f"{self.name} does not run", "its settings can be changed while it runs")
        return self._controls

    def set(self, name: str, value: object) -> None:
        """Changes a setting of the running query, from its next step on. Results do not depend on it."""
        self.controls.set(name, str(value))
        if self._started is not None:
            self.controls.apply()

    def to_arrow(self, *, cells: int = 1, horizon: int | None = None) -> Any:
        """Runs it in this process, as `run` does, and returns all changes as one Arrow table."""
        from penstock.engines.results import together  # noqa: PLC0415

        return together(self.run(cells=cells, horizon=horizon), self.schema)

    def dataframe(self, *, cells: int | None = None, early: bool = False) -> Any:
        """Returns the query as a streaming DataFrame: `_ts`, `_op`, then the select list.

        State is cut into `cells`, by default as many as Spark has cores. Once the DataFrame is started, `metrics` says
        what it does; of several, the one that was made last.
        With `early` results come as soon as their rows are there, in no order of time, where that changes none.

        ```python
        session = penstock.Session(spark)
        ticks = spark.readStream.format("rate").load()
        session.stream("tick", ticks, timestamp="timestamp", delay="1 SECOND")
        changes = session.query("SELECT COUNT(*) AS n FROM tick [RANGE 1 MINUTE]").dataframe(cells=1)
        assert changes.isStreaming
        assert changes.columns == ["_ts", "_op", "n"]
        ```
        """
        from penstock.engines.spark.observing import observer  # noqa: PLC0415
        from penstock.engines.spark.query import build  # noqa: PLC0415

        self._admit()
        self._refuse_sysstream()
        cells = self._session.spark.sparkContext.defaultParallelism if cells is None else cells
        planned, streams, tables = self._frames(cells, EAGER, FULL, early=early)
        observation, history = observer(self._session.spark).history(self.name)
        frame = build(
            self.bound, self._session.catalog, streams, tables, cells, planned=planned, observation=observation
        )
        self._started = history
        return frame

    def start(
        self,
        out: str,
        *,
        checkpoint: str,
        cells: int | None = None,
        until_done: bool = False,
        horizon: int | None = None,
        idle: int | str | timedelta | None = None,
        early: bool = False,
        forgetting: Forgetting = EAGER,
        adaptive: Adaptive = FULL,
        memory: int | str | None = None,
    ) -> RunningQuery:
        """Starts it on Spark, into a folder whose name ends in csv, json or parquet, and returns the running query.

        Results are written exactly once: started again with the same `checkpoint`, it continues where it ended. With
        `until_done` it reads what there is, closes time at the `horizon`, and ends; otherwise it waits for new rows,
        and goes on without a stream that has been quiet for `idle`, such as '30 SECONDS'.
        With `early` results come as soon as their rows are there, in no order of time, where that changes none.
        `memory` is what rows may take, such as '512MB': how many files a micro-batch reads follows from it.

        ```python
        from pathlib import Path

        Path("bids").mkdir()
        Path("bids/1.csv").write_text("item,price,ts\\n1,10,1\\n1,30,2\\n")

        session = penstock.Session(spark)
        session.sql(
            "CREATE STREAM bid (item BIGINT, price BIGINT, ts BIGINT) TIMESTAMP BY ts "
            "USING csv OPTIONS (path 'bids', header 'true')"
        )
        query = session.query("SELECT ISTREAM(item, price) FROM bid [NOW] WHERE price > 20")
        running = query.start("dear.parquet", checkpoint="checkpoints/dear", cells=1, until_done=True)
        running.await_done()
        assert [row.price for row in spark.read.parquet(str(Path("dear.parquet").absolute())).collect()] == [30]
        ```
        """
        from penstock.engines.spark.query import start  # noqa: PLC0415
        from penstock.monitor.control import Controls  # noqa: PLC0415

        if idle is not None and until_done:
            message = "idle is for queries that wait for new rows, and until_done reads what there is"
            raise PenstockError(message, "leave one of them out")
        self._admit()
        self._refuse_sysstream()
        spark = self._session.spark
        cells = spark.sparkContext.defaultParallelism if cells is None else cells
        budget = _bytes(memory)
        slowly = budget is not None
        planned, streams, tables = self._frames(cells, forgetting, adaptive, early=early, slowly=slowly)
        running = self._started = start(
            self.bound,
            self._session.catalog,
            streams,
            tables,
            spark=spark,
            out=out,
            checkpoint=checkpoint,
            cells=cells,
            horizon=horizon,
            until_done=until_done,
            forgetting=forgetting,
            planned=planned,
            idle=idle_time(idle),
            memory=budget,
            most_rows=None if self._admitted is None else self._admitted.bound.size,
        )
        self._planned = planned
        self._told, self._controls = -1, Controls([self._started])
        self._page = self._recorder(planned, "spark")
        if self._page is not None:
            from penstock.monitor.page.following import follow  # noqa: PLC0415

            follow(running, self._page, self._controls)
        return running

    def _refuse_sysstream(self) -> None:
        """Refuses to start or open a query that reads what this process publishes."""
        if reads_sysstream(self.bound):
            message = f"{self.name} reads sysstream, which this process fills"
            raise PenstockError(message, "use run() or to_arrow(): they say what queries on Spark do, too")

    def _admit(self) -> None:
        """Refuses an unsafe query, and warns where its bound leans on what no run sees."""
        verdict = self._admitted = self.verdict
        refuse_unsafe(verdict)
        for warning in verdict.warnings:
            warnings.warn(warning, UnusedProof, stacklevel=3)

    def decisions(self) -> list[Decision]:
        """Returns the decisions on orders of the last run, each with its statistics and what it earned."""
        return latest_decisions(self.metrics())

    def metrics(self) -> Metrics:
        """Returns a dict per step and operator: rows in and out, late and bad rows, state, and more.

        They are those of the last run in this process; or, if a query was started on Spark or made a DataFrame since,
        of that, also while it runs. `penstock run --metrics` writes the same.
        """
        if self._started is not None:
            return Metrics.of(self._started.operators())
        return Metrics(self._metrics)

    def _frames(
        self, cells: int, forgetting: Forgetting, adaptive: Adaptive, *, early: bool = False, slowly: bool = False
    ) -> tuple[Plan, dict[str, Any], dict[str, Any]]:
        """Returns the plan, and the DataFrames of the streams and of the tables that the plan reads."""
        from penstock.engines.planning import plan_of  # noqa: PLC0415
        from penstock.engines.spark.declared import frames_of  # noqa: PLC0415

        catalog = self._session.catalog
        with limited(self._effort):
            planned = plan_of(with_early(self.bound, early=early), catalog, cells, forgetting, adaptive)
        return planned, *frames_of(planned, catalog, self._session.spark, self._session.data, slowly=slowly)

    def _repr_html_(self) -> str:
        """Returns its verdict and its plan, for notebooks."""
        shown = escape(self.explain(), quote=False)
        plan = f"<details><summary>plan</summary><pre style='text-align:left'>{shown}</pre></details>"
        return self.verdict._repr_html_() + plan

    def __repr__(self) -> str:
        columns = ", ".join(f"{column.name} {column.type}" for column in self.schema)
        return f"<query {self.name}: {columns}>"


def _bytes(memory: int | str | None) -> int | None:
    """Returns a memory budget in bytes."""
    size = None if memory is None else parsed_bytes(str(memory))
    if memory is not None and not size:
        raise PenstockError(f"memory is {memory}", "write '512MB', or leave it out")
    return size
