"""Sessions: Penstock from Python. Streams, tables and queries are declared one after the other, and queries run.

A stream is declared in SQL, and then read from where its `USING` says, or it is handed over: a Spark DataFrame, an
Arrow table or its batches, a pandas frame. Data libraries are loaded when they are first needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from penstock.algebra.zones import DEFAULT, zone_name
from penstock.catalog import Catalog, StreamDef, TableDef
from penstock.engines.handed_columns import HandedColumns, quoted
from penstock.errors import PenstockError, Source
from penstock.functions import declare, user_function
from penstock.session.given_times import time_text
from penstock.session.provided import SourceData, columns_of, is_spark, readable
from penstock.session.query import Query
from penstock.sql import Script, bind_text
from penstock.sql.diagnostics import did_you_mean, listed
from penstock.sql.statements import parse_script
from penstock.sql.system_streams import reads_sysstream

if TYPE_CHECKING:  # libraries for data are loaded when they are needed
    from penstock.monitor.page.serving import PageServer
    from penstock.monitor.watching import Watching
    from penstock.session.open_query import OpenQuery


def spark_session(master: str | None = None, *, time_zone: str = DEFAULT, **settings: str) -> Any:
    """Returns a SparkSession with the settings that make queries fast, or the one that is running.

    It is local, with all cores, unless a master is given. Other `settings` are Spark's own.

    ```python
    spark = penstock.spark_session(**{"spark.driver.memory": "8g"})
    session = penstock.Session(spark)
    ```
    """
    from penstock.engines.java import find_java  # noqa: PLC0415
    from penstock.engines.spark.session import spark_session as made  # noqa: PLC0415

    find_java()
    return made(master, time_zone=time_zone, **settings)


def latest_changes(changes: Any, keys: str | Sequence[str]) -> Any:
    """Returns one row per key that a micro-batch of changes touched: `_op`, then the select list.

    With `_op` `+` the key has that row from now on; with `-` it no longer has one. `changes` is what `foreachBatch`
    passes on, and `keys` the column, or columns, that identify a row. The result can be applied twice, as Spark does
    after a failure, to the same effect.

    ```python
    batch = spark.createDataFrame(
        [(1, "+", "chair", 10), (2, "-", "chair", 10), (2, "+", "chair", 30)],
        "_ts BIGINT, _op STRING, name STRING, price BIGINT",
    )
    (row,) = penstock.latest_changes(batch, "name").collect()
    assert (row._op, row.name, row.price) == ("+", "chair", 30)
    ```
    """
    from penstock.engines.spark.table_changes import latest_changes as made  # noqa: PLC0415

    if not is_spark(changes):
        raise PenstockError(f"{type(changes).__name__} is no Spark DataFrame", "pass on what foreachBatch gets")
    return made(changes, keys)


class Session:
    """Holds declarations: streams, tables and functions, and the queries over them.

    `spark` is a SparkSession; without one, one is made when it is first needed. `time_zone` is the zone of hours, of
    days and of times that are written without one: a region, such as 'Europe/Berlin', or an offset, such as '+02:00'.
    By default it is the zone of the SparkSession, and UTC if there is none.

    >>> import penstock, pyarrow as pa
    >>> session = penstock.Session()
    >>> session.stream("bid", pa.table({"item": [1, 2, 1], "price": [10, 25, 30], "ts": [1, 2, 3]}), timestamp="ts")
    >>> query = session.query("SELECT item, MAX(price) AS top FROM bid [RANGE 10 SECONDS] GROUP BY item")
    >>> query.to_arrow(horizon=3).to_pylist()[-1]
    {'_ts': 3, '_op': '+', 'item': 1, 'top': 30}
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
        """Takes statements, which may refer to what was declared before, and returns the queries among them.

        >>> import penstock
        >>> session = penstock.Session()
        >>> session.sql("CREATE STREAM s (a BIGINT, ts TIMESTAMP) TIMESTAMP BY ts")
        []
        >>> session.sql("CREATE QUERY latest AS SELECT a FROM s [ROWS 1]")
        [<query latest: a BIGINT>]
        """
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
        handed = {name: data for name, data in self.data.items() if not is_spark(data)}
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
        """Declares a stream with its data: a Spark DataFrame, an Arrow table, Arrow batches, or a pandas frame.

        The order of the rows is that of their arrival. `timestamp` names the column of their times, and `unit` is what
        it counts if it is a number, such as 'MILLISECONDS' (default: microseconds). A row may come late by `delay`,
        which is a time as SQL writes it, such as '5 SECONDS', a timedelta, or a number of microseconds. So is `idle`:
        time goes on without the stream when it has been quiet for that long. `constraints` are texts, written as in
        CREATE STREAM.
        """
        data = readable(name, data)
        columns, further = columns_of(name, data), list(_each(constraints))
        columns.check_time(timestamp)
        late = time_text("delay", delay)
        time = f"TIMESTAMP BY {quoted(timestamp)} {unit} DELAY {late}"
        if idle is not None:
            time = f"{time} IDLE AFTER {time_text('idle', idle)}"
        elements = ", ".join((*columns.elements(), *further))
        self._declare(f"CREATE OR REPLACE STREAM {quoted(name)} ({elements}) {time}", columns, further, data)

    def table(self, name: str, data: SourceData, *, constraints: Iterable[str] = ()) -> None:
        """Declares a table with its data, of any type that `stream` takes.

        `constraints` are texts, written as in CREATE TABLE.
        """
        data = readable(name, data)
        columns, further = columns_of(name, data), list(_each(constraints))
        elements = ", ".join((*columns.elements(), *further))
        self._declare(f"CREATE OR REPLACE TABLE {quoted(name)} ({elements})", columns, further, data)

    def push(self, stream: str, data: SourceData) -> None:
        """Passes rows of a stream, in the order of their arrival, to the open queries that read it.

        If they exceed the memory budget of a query, some are worked on before the call returns.
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
        """Registers a Python function, which later statements can call.

        It takes a name, the function and its types, with the other settings of `penstock.function`; a function that is
        decorated with that is passed alone. A function replaces an earlier one of the same name with as many arguments.

        >>> import penstock
        >>> session = penstock.Session()
        >>> session.function("twice", lambda n: 2 * n, arguments=["BIGINT"], returns="BIGINT", null="skip")
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
        """Returns the query that `text` names or is. Each answer about it may take `effort` steps of work."""
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
        """Shows the queries that run from now on as a page, at its `address`, until its `close()`.

        It needs `penstock[ui]`. Only this machine is served, unless another address is given. Port 0 is any free one.
        """
        from penstock.monitor.page.serving import PageServer  # noqa: PLC0415

        if self._page is None or self._page.is_closed:
            self._page = PageServer(address, port).start()
        return self._page

    @property
    def page(self) -> PageServer | None:
        """The page that shows what runs, or None."""
        return None if self._page is None or self._page.is_closed else self._page

    @property
    def spark(self) -> Any:
        """The SparkSession; one is made if there is none."""
        if self._spark is None:
            self._spark = spark_session(time_zone=self.time_zone)
        return self._spark

    @property
    def time_zone(self) -> str:
        """The time zone of declarations and queries."""
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


def _each(constraints: Iterable[object]) -> Iterator[str]:
    if isinstance(constraints, str):
        raise PenstockError("constraints are a list of texts", f"write constraints=[{constraints!r}]")
    for number, text in enumerate(constraints):
        if not isinstance(text, str):
            raise PenstockError(f"constraints[{number}] is {text!r}", "constraints are a list of texts")
        yield text
