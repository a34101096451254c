"""Sessions: Penstock from Python. Streams, tables and queries are declared one after the other, and queries run.

A stream is declared in SQL, and then read from where its `USING` says, or it is handed over: a Spark DataFrame, an
Arrow table or its batches, a pandas frame. Data libraries are loaded when they are first needed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from html import escape
from typing import TYPE_CHECKING, Any

from penstock.algebra.printing import plan_text
from penstock.algebra.relations import Query as BoundQuery
from penstock.algebra.relations import Schema
from penstock.algebra.rewrites import normalise
from penstock.algebra.zones import DEFAULT, zone_name
from penstock.catalog import Catalog, StreamDef, TableDef
from penstock.effort import limited
from penstock.elimination import running, verdict_of
from penstock.engines.handed_columns import HandedColumns, quoted, spark_columns
from penstock.engines.planning import require_cells
from penstock.errors import Origin, PenstockError, Source
from penstock.functions import declare, user_function
from penstock.plan.adaptivity import FULL, Adaptive
from penstock.plan.decisions import Decision, latest_decisions
from penstock.plan.explain import fragments_text
from penstock.plan.forgetting import EAGER, Forgetting
from penstock.plan.fragments import Plan, plan
from penstock.register import UnusedProof, Verdict, refuse_unsafe
from penstock.sql import Script, bind_text
from penstock.sql.diagnostics import did_you_mean, listed
from penstock.sql.statements import parse_script
from penstock.sql.system_streams import reads_sysstream
from penstock.types import duration_text, instant_text, parsed_duration

if TYPE_CHECKING:  # libraries for data are loaded when they are needed
    from penstock.monitor.control import Controls
    from penstock.monitor.page.recorder import Recorder
    from penstock.monitor.page.serving import PageServer
    from penstock.monitor.watching import Watching

#: What a program hands over. The libraries of these types need not be there.
SourceData = Any


def spark_session(master: str | None = None, *, time_zone: str = DEFAULT, **settings: str) -> Any:
    """Returns a SparkSession with the settings that make queries fast, or the one that is running.

    It is local, with all cores, unless a master is given. `settings` are Spark's own, as in
    `spark_session(**{"spark.driver.memory": "8g"})`.
    """
    from penstock.engines.java import find_java  # noqa: PLC0415
    from penstock.engines.spark.session import spark_session as made  # noqa: PLC0415

    find_java()
    return made(master, time_zone=time_zone, **settings)


def latest_changes(changes: Any, keys: str | Sequence[str]) -> Any:
    """Returns one row per key that a micro-batch of changes touched: `_op`, then the select list.

    With `_op` `+` the key has that row from now on, with `-` it has none any more. `changes` is what `foreachBatch`
    gets; applied twice, as it may be after a failure, it comes to the same.
    """
    from penstock.engines.spark.table_changes import latest_changes as made  # noqa: PLC0415

    if not _is_spark(changes):
        raise PenstockError(f"{type(changes).__name__} is no Spark DataFrame", "pass on what foreachBatch gets")
    return made(changes, keys)


class Session:
    """Holds what has been declared so far. `spark` is a SparkSession; without one, one is made when it is needed.

    `time_zone` is what hours, days and times without a zone are of: a region, as 'Europe/Berlin', or an offset, as
    '+02:00'. It is that of the SparkSession, and without one UTC.
    """

    def __init__(self, spark: Any = None, *, time_zone: str | None = None) -> None:
        self._spark = spark
        self._time_zone = None if time_zone is None else zone_name(time_zone)
        if spark is not None and self._time_zone not in (None, self._zone_of_spark()):
            raise PenstockError(
                f"the session is to have the time zone {time_zone}, and Spark's has {self._zone_of_spark()}",
                "leave time_zone out, or set spark.sql.session.timeZone",
            )
        self.catalog = Catalog()
        self._data: dict[str, SourceData] = {}
        self._queries: dict[str, Query] = {}
        #: The queries to which rows are pushed.
        self._open: list[OpenQuery] = []
        self._page: PageServer | None = None
        self._watching: Watching | None = None

    def sql(self, text: str) -> list[Query]:
        """Binds statements after those that came before, and gives the queries among them."""
        return self._take(self._bound(text))

    def _bound(self, text: object) -> Script:
        if not isinstance(text, str):
            raise PenstockError(f"{type(text).__name__} is no SQL", "give a text")
        return bind_text(text, catalog=self.catalog, zone=self.time_zone).checked()

    def _take(self, script: Script) -> list[Query]:
        """Takes over what bound statements declare, and gives the queries among them."""
        self.catalog = script.catalog
        queries = [Query(self, query, script.origin(query)) for query in script.queries]
        self._queries |= {query.name.lower(): query for query in queries}
        for query in queries:
            if reads_sysstream(query.bound) and query.verdict.allowed:
                self._watch(query)
        return queries

    def _watch(self, query: Query) -> None:
        """Lets a query read what the queries of this session publish from now on."""
        from penstock.monitor.watching import Watching  # noqa: PLC0415

        self._watching = self._watching or Watching()
        handed = {name: data for name, data in self.data.items() if not _is_spark(data)}
        self._watching.add(query.bound, self.catalog, handed)

    def stream(
        self,
        name: str,
        data: SourceData,
        *,
        timestamp: str,
        unit: str = "",
        delay: int | str | timedelta = 0,
        idle: int | str | timedelta | None = None,
        constraints: Iterable[str] = (),
    ) -> None:
        """Declares a stream whose rows are handed over, in the order of their arrival.

        `unit` is what a BIGINT timestamp counts, as 'MILLISECONDS'. `delay` is a time, as '5 SECONDS', or microseconds,
        and so is `idle`, after which time goes on without the stream. Constraints are written as in CREATE STREAM.
        """
        data = _readable(name, data)
        columns, further = _columns(name, data), list(_each(constraints))
        columns.check_time(timestamp)
        late = _time_text("delay", delay)
        time = f"TIMESTAMP BY {quoted(timestamp)} {unit} DELAY {late}"
        if idle is not None:
            time = f"{time} IDLE AFTER {_time_text('idle', idle)}"
        elements = ", ".join((*columns.elements(), *further))
        self._declare(f"CREATE OR REPLACE STREAM {quoted(name)} ({elements}) {time}", columns, further, data)

    def table(self, name: str, data: SourceData, *, constraints: Iterable[str] = ()) -> None:
        """Declares a table whose rows are handed over."""
        data = _readable(name, data)
        columns, further = _columns(name, data), list(_each(constraints))
        elements = ", ".join((*columns.elements(), *further))
        self._declare(f"CREATE OR REPLACE TABLE {quoted(name)} ({elements})", columns, further, data)

    def push(self, stream: str, data: SourceData) -> None:
        """Gives rows of a stream, in the order of their arrival, to the open queries that read it.

        Rows that outrun the memory budget of a query are worked on before the call returns.
        """
        readers = [each for each in self._open if stream in each.streams]
        if not readers:
            hint = "open a query that reads it first, with query.open()"
            raise PenstockError(f"no open query reads {stream}", hint)
        for reader in readers:
            reader.push(stream, data)

    def function(
        self,
        name: str | Callable[..., Any],
        f: Callable[..., Any] | None = None,
        *,
        arguments: Iterable[str] | None = None,
        returns: str | None = None,
        vectorized: bool = False,
        deterministic: bool = True,
        null: str = "call",
        on_error: str = "fail",
    ) -> None:
        """Registers a Python function for the statements that are bound from now on.

        It takes a name, the function, and types as SQL writes them. One that is decorated with `penstock.function` is
        given alone. A function of the same name and as many arguments takes the place of the one before.
        """
        if not isinstance(name, str):
            if f is not None or arguments is not None or returns is not None:
                raise PenstockError("a decorated function has its declaration", "give it alone, or the name first")
            self.catalog = self.catalog.calling(user_function(name))
            return
        if f is None or arguments is None or returns is None:
            usage = f"write session.function({name!r}, f, arguments=[...], returns=...)"
            raise PenstockError(f"{name} needs code, types of arguments and a type of results", usage)
        declaration = declare(
            name,
            arguments=arguments,
            returns=returns,
            vectorized=vectorized,
            deterministic=deterministic,
            null=null,
            on_error=on_error,
        )
        self.catalog = self.catalog.calling(declaration.of(f))

    def query(self, text: str, *, effort: int | None = None) -> Query:
        """Returns the query of that name, or binds the text; each answer about it may take `effort` steps of work."""
        found = self._found(text)
        return found if effort is None else Query(self, found.bound, found._origin, effort)

    def _found(self, text: object) -> Query:
        known = self._queries.get(text.strip().lower()) if isinstance(text, str) else None
        if known is not None:
            return known
        if isinstance(text, str) and text.strip().isidentifier():
            names = [query.name for query in self._queries.values()]
            hint = did_you_mean(text, names) or (f"there are {listed(names)}" if names else "declare it with sql(...)")
            raise PenstockError(f"there is no query {text.strip()}", hint)
        script = self._bound(text)
        count = len(script.queries)
        if count != 1:
            raise PenstockError(f"the text has {count} queries", "give one query to query(...), several to sql(...)")
        (found,) = self._take(script)
        return found

    def ui(self, port: int = 0, *, address: str = "127.0.0.1") -> PageServer:
        """Shows the queries that run from now on as a page, at `.address`, until `.close()`; needs penstock[ui].

        Only this machine is served, unless another address is given. Port 0 is any that is free.
        """
        from penstock.monitor.page.serving import PageServer  # noqa: PLC0415

        if self._page is None or self._page.is_closed:
            self._page = PageServer(address, port).start()
        return self._page

    @property
    def page(self) -> PageServer | None:
        """Returns the page that shows what runs, if there is one."""
        return None if self._page is None or self._page.is_closed else self._page

    @property
    def spark(self) -> Any:
        """Returns the SparkSession; it is made if there is none."""
        if self._spark is None:
            self._spark = spark_session(time_zone=self.time_zone)
        return self._spark

    @property
    def time_zone(self) -> str:
        """Returns the time zone of what is declared now."""
        if self._time_zone is not None or self._spark is None:
            return self._time_zone or DEFAULT
        return self._zone_of_spark()

    def _zone_of_spark(self) -> str:
        from penstock.engines.spark.session import session_zone  # noqa: PLC0415

        return session_zone(self._spark)

    @property
    def data(self) -> dict[str, SourceData]:
        """Returns the provided rows by name, for streams and tables that are still declared without a source."""
        return {name: data for name, data in self._data.items() if name in self._declared()}

    def _declare(self, statement: str, columns: HandedColumns, constraints: list[str], data: SourceData) -> None:
        if len(parse_script(Source(columns.name, statement)).statements) > 1:
            raise PenstockError(f"the constraints of {columns.name} hold a statement", "give it to sql(...)")
        try:
            catalog = bind_text(statement, catalog=self.catalog, zone=self.time_zone).checked().catalog
        except PenstockError as error:
            raise columns.explained(error, statement, constraints) from None
        definition = catalog.get(columns.name)
        assert isinstance(definition, StreamDef | TableDef)
        known = replace(definition, left_out=columns.left_out)
        self.catalog = catalog.having(known)
        self._data[columns.name] = data

    def _declared(self) -> set[str]:
        """Returns the streams and tables without a source of their own."""
        definitions: tuple[StreamDef | TableDef, ...] = (*self.catalog.streams, *self.catalog.tables)
        return {definition.name for definition in definitions if definition.connector is None}


class Query:
    """A bound query, which can be judged, explained, run in this process, or started on Spark."""

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
        return self.bound.name

    @property
    def schema(self) -> Schema:
        return self.bound.schema

    @property
    def verdict(self) -> Verdict:
        """Returns the verdict with what has been declared so far: is its state bounded?"""
        with limited(self._effort):
            catalog = self._session.catalog
            return verdict_of(self.bound, catalog, self._origin)

    def explain(self, cells: int | None = None) -> str:
        """Returns the plan in normal form, and which joins are not run; with a number of cells its fragments too."""
        with limited(self._effort):
            runs = running(self.bound, self._session.catalog)
            planned = None
            if cells is not None:
                require_cells(cells)
                planned = plan(normalise(self.bound), cells, self._session.catalog)
        picture = "\n".join([plan_text(runs.shown), *runs.lines()])
        return picture if planned is None else f"{picture}\n\n{fragments_text(planned)}"

    def run(
        self,
        *,
        cells: int = 1,
        horizon: int | None = None,
        forgetting: Forgetting = EAGER,
        adaptive: Adaptive = FULL,
    ) -> Iterator[Any]:
        """Runs in this process over all rows that there are, and gives Arrow tables of changes as they come.

        A query over `sysstream` gives what there is to say of what the session's other queries published so far.
        """
        from penstock.engines.embedded_run import open_run  # noqa: PLC0415
        from penstock.monitor.control import Controls  # noqa: PLC0415

        self._admit()
        if reads_sysstream(self.bound):
            yield from self._published()
            return
        self._metrics, self._started = [], None
        handed = {name: _collected(name, data) for name, data in self._session.data.items()}
        with limited(self._effort):
            running = open_run(
                [self.bound],
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
        forgetting: Forgetting = EAGER,
        adaptive: Adaptive = FULL,
    ) -> OpenQuery:
        """Lets rows be pushed to it in this process, by `session.push`, until it is finished or closed.

        `memory` is what rows may take, as '512MB', and `scheduling` says what runs first where rows wait: 'chain',
        'greedy' or 'fifo'. `changes` goes on without a stream that has been quiet for `idle`, as '30 SECONDS'.
        """
        from penstock.engines.planning import plan_of  # noqa: PLC0415
        from penstock.engines.queued_run import open_queued  # noqa: PLC0415
        from penstock.monitor.control import Controls  # noqa: PLC0415

        self._admit()
        self._refuse_sysstream()
        catalog = self._session.catalog
        handed = {name: _collected(name, data) for name, data in self._session.data.items() if not _is_live(data)}
        with limited(self._effort):
            planned = self._planned = plan_of(self.bound, catalog, cells, forgetting, adaptive)
        run = open_queued(planned, catalog, handed, horizon, self._admitted.bound.size, idle=_idle(idle))
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
                lines = query._started.metrics(after=query._told)
                query._told = max((line.step for line in lines), default=query._told)
                watching.take(query._admitted, query._planned, lines)
        yield from watching.changes(self.name)

    @property
    def controls(self) -> Controls:
        """Returns what can be changed while the query runs: in this process during `run`, on Spark once started."""
        if self._controls is None:
            raise PenstockError(f"{self.name} does not run", "its settings can be changed while it runs")
        return self._controls

    def set(self, name: str, value: object) -> None:
        """Changes a setting of the running query, from its next step on. No result depends on it."""
        self.controls.set(name, str(value))
        if self._started is not None:
            self.controls.apply()

    def to_arrow(self, *, cells: int = 1, horizon: int | None = None) -> Any:
        """Returns all changes as one Arrow table: `_ts`, `_op`, then the select list."""
        from penstock.engines.results import together  # noqa: PLC0415

        return together(self.run(cells=cells, horizon=horizon), self.schema)

    def dataframe(self, *, cells: int | None = None) -> Any:
        """Returns the query as a streaming DataFrame: `_ts`, `_op`, then the select list.

        Once it is started, `metrics` says what it does, of the DataFrame that was made last.
        """
        from penstock.engines.spark.observing import observer  # noqa: PLC0415
        from penstock.engines.spark.query import build  # noqa: PLC0415

        self._admit()
        self._refuse_sysstream()
        cells = self._session.spark.sparkContext.defaultParallelism if cells is None else cells
        planned, streams, tables = self._frames(cells, EAGER, FULL)
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
        forgetting: Forgetting = EAGER,
        adaptive: Adaptive = FULL,
    ) -> Any:
        """Starts it on Spark, into a folder whose name ends in csv, json or parquet, and gives the running query.

        It goes on without a stream that has been quiet for `idle`, as '30 SECONDS', unless it runs `until_done`.
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
        planned, streams, tables = self._frames(cells, forgetting, adaptive)
        self._started = start(
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
            idle=_idle(idle),
        )
        self._planned = planned
        self._told, self._controls = -1, Controls([self._started])
        self._page = self._recorder(planned, "spark")
        if self._page is not None:
            from penstock.monitor.page.following import follow  # noqa: PLC0415

            follow(self._started, self._page, self._controls)
        return self._started

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
        """Returns the decisions on orders of the last run: each with its statistics, and what it earned."""
        return latest_decisions(self.metrics())

    def metrics(self) -> Metrics:
        """Returns what each operator did in each step of the query on Spark, or of the last run here.

        On Spark that is the query that was started last, or made a DataFrame of; while it runs, too.
        """
        if self._started is not None:
            return Metrics(metric.as_json() for metric in self._started.metrics())
        return Metrics(self._metrics)

    def _frames(
        self, cells: int, forgetting: Forgetting, adaptive: Adaptive
    ) -> tuple[Plan, dict[str, Any], dict[str, Any]]:
        """Returns the plan, and the DataFrames of the streams and of the tables that the plan reads."""
        from penstock.engines.planning import plan_of  # noqa: PLC0415
        from penstock.engines.spark.declared import frames_of  # noqa: PLC0415

        catalog = self._session.catalog
        with limited(self._effort):
            planned = plan_of(self.bound, catalog, cells, forgetting, adaptive)
        return planned, *frames_of(planned, catalog, self._session.spark, self._session.data)

    def _repr_html_(self) -> str:
        """Returns its verdict and its plan, for notebooks."""
        shown = escape(self.explain(), quote=False)
        plan = f"<details><summary>plan</summary><pre style='text-align:left'>{shown}</pre></details>"
        return self.verdict._repr_html_() + plan

    def __repr__(self) -> str:
        columns = ", ".join(f"{column.name} {column.type}" for column in self.schema)
        return f"<query {self.name}: {columns}>"


class Metrics(list[dict[str, Any]]):
    """A line per step and operator, as `penstock run --metrics` writes them. A notebook shows the latest step."""

    #: The columns that a notebook shows; all others are in the lines.
    SHOWN = ("operator", "stream", "cell", "rows_in", "rows_out", "late_rows", "state_rows", "state_bytes")

    def _repr_html_(self) -> str:
        latest = max((line["step"] for line in self), default=None)
        if latest is None:
            return "<div>no step is complete yet</div>"
        lines = [line for line in self if line["step"] == latest]
        head = "".join(f"<th>{name}</th>" for name in self.SHOWN)
        rows = "".join(f"<tr>{''.join(_cell(line.get(name)) for name in self.SHOWN)}</tr>" for line in lines)
        title = f"step {latest}, watermark {instant_text(lines[-1]['watermark'])}"
        return f"<div>{title}</div><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _cell(value: Any) -> str:
    shown = "" if value is None else f"{value:,}" if isinstance(value, int) else escape(str(value))
    return f"<td>{shown}</td>"


class OpenQuery:
    """A query that runs in this process on the rows that are pushed to it."""

    def __init__(self, query: Query, run: Any) -> None:
        self._query, self._run = query, run

    @property
    def streams(self) -> list[str]:
        """Returns the streams that it reads."""
        return list(self._run.engine.streams)

    def push(self, stream: str, data: SourceData) -> None:
        """Takes rows of a stream; `session.push` gives them to all open queries."""
        self._require_open()
        self._run.push_all(_readable(stream, data))

    def changes(self) -> Iterator[Any]:
        """Works on what waits, and yields Arrow tables of the changes that there are by now."""
        self._require_open()
        yield from self._told(self._run.changes())

    def finish(self) -> Iterator[Any]:
        """Ends its streams, and yields the changes up to the horizon. It is closed then."""
        self._require_open()
        yield from self._told(self._run.finish())
        self.close()

    def close(self) -> None:
        """Takes no rows any more, and forgets those that it has."""
        if self in self._query._session._open:
            self._query._session._open.remove(self)
            self._query._controls = None
            self._run.engine.close()
            if self._query._page is not None:
                self._query._page.end()

    def _require_open(self) -> None:
        if self not in self._query._session._open:
            raise PenstockError(f"{self._query.name} is closed", "open it anew, with query.open()")

    def _told(self, blocks: Iterator[Any]) -> Iterator[Any]:
        yield from (block for block in blocks if block.num_rows)
        self._query._stepped(self._run.engine.metrics())

    def __enter__(self) -> OpenQuery:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _readable(name: str, data: SourceData) -> SourceData:
    """Returns a Spark DataFrame as it is, anything else as rows with a schema."""
    if _is_spark(data):
        return data
    from penstock.engines.handed import Handed  # noqa: PLC0415

    return Handed(name, data)


def _collected(name: str, data: SourceData) -> SourceData:
    """Rows that can be read in this process."""
    if not _is_spark(data):
        return data
    if data.isStreaming:
        message = f"{name} is a streaming DataFrame, which only Spark can read"
        raise PenstockError(message, "use dataframe() or start(...) instead of run() or to_arrow()")
    return _readable(name, data.toArrow())


def _is_live(data: SourceData) -> bool:
    """Returns whether data is a streaming DataFrame."""
    return _is_spark(data) and bool(data.isStreaming)


def _columns(name: str, data: SourceData) -> HandedColumns:
    """Returns the columns of what is handed over, as they are declared."""
    if _is_spark(data):
        return spark_columns(name, data)
    found: HandedColumns = data.columns()
    return found


def _is_spark(data: SourceData) -> bool:
    return type(data).__module__.startswith("pyspark.sql")


def _time_text(name: str, given: object) -> str:
    """Returns a time that a program gives as SQL writes it."""
    if isinstance(given, str):
        return given
    if isinstance(given, timedelta):
        return duration_text(given // timedelta(microseconds=1))
    if isinstance(given, int) and not isinstance(given, bool):
        return duration_text(given)
    hint = "give a time as '5 SECONDS', a timedelta, or a whole number of microseconds"
    raise PenstockError(f"the {name} is {given!r}", hint)


def _idle(given: int | str | timedelta | None) -> int | None:
    """Returns the microseconds of `idle`, of a run."""
    if given is None:
        return None
    found = parsed_duration(_time_text("idle", given))
    if found is None:
        raise PenstockError(f"idle={given!r} is not a time", "for example idle='30 SECONDS'")
    return found


def _each(constraints: Iterable[object]) -> Iterator[str]:
    if isinstance(constraints, str):
        raise PenstockError("constraints are a list of texts", f"write constraints=[{constraints!r}]")
    for number, text in enumerate(constraints):
        if not isinstance(text, str):
            raise PenstockError(f"constraints[{number}] is {text!r}", "constraints are a list of texts")
        yield text
