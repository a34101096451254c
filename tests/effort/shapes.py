"""Texts that grow in one direction each: a shape gives the SQL of its size, from a few terms to many thousand.

A shape is what an attack, a program that writes SQL, or a large firm's model may send: legal or not, it has an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

Shape = Callable[[int], str]

STREAMS = """
CREATE STREAM s (a BIGINT, b BIGINT, c STRING, d DOUBLE, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM t (a BIGINT, b BIGINT, c STRING, d DOUBLE, ts TIMESTAMP) TIMESTAMP BY ts;
"""


def numbered(n: int, term: Callable[[int], str], separator: str = ", ") -> str:
    """
    >>> numbered(3, "x{}".format)
    'x0, x1, x2'
    """
    return separator.join(map(term, range(n)))


def nested(n: int, innermost: str, around: Callable[[str, int], str]) -> str:
    """
    >>> nested(2, "x", lambda inner, level: f"f{level}({inner})")
    'f1(f0(x))'
    """
    text = innermost
    for level in range(n):
        text = around(text, level)
    return text


def _column(number: int) -> str:
    return f"x{number}"


def _wide(n: int, constraints: Iterable[str] = (), name: str = "w") -> str:
    """A stream of n columns."""
    elements = [*(f"x{i} BIGINT" for i in range(n)), "ts TIMESTAMP", *constraints]
    return f"CREATE STREAM {name} ({', '.join(elements)}) TIMESTAMP BY ts;\n"


def _many(n: int, constraints: str = "") -> str:
    """n streams of two columns."""
    return numbered(
        n, lambda i: f"CREATE STREAM r{i} (a BIGINT, b BIGINT, ts TIMESTAMP{constraints}) TIMESTAMP BY ts;", "\n"
    )


def _join(n: int, on: Iterable[str], window: str = " [RANGE 1 HOUR]", constraints: str = "") -> str:
    where = " AND ".join(on)
    source = numbered(n, lambda i: f"r{i}{window}")
    return f"{_many(n, constraints)}\nSELECT r0.a FROM {source}" + (f" WHERE {where}" if where else "")


def nested_group_by(n: int) -> str:
    inner = nested(
        n, "s [RANGE 1 HOUR]", lambda below, level: f"(SELECT a, COUNT(*) AS n{level} FROM {below} GROUP BY a) q{level}"
    )
    return f"{STREAMS}SELECT a FROM {inner}"


def nested_selects(n: int) -> str:
    inner = nested(
        n, "s [RANGE 1 HOUR]", lambda below, level: f"(SELECT a + 1 AS a FROM {below} WHERE a > {level}) q{level}"
    )
    return f"{STREAMS}SELECT a FROM {inner}"


def nested_distinct(n: int) -> str:
    inner = nested(n, "s", lambda below, level: f"(SELECT DISTINCT a FROM {below}) q{level}")
    return f"{STREAMS}SELECT a FROM {inner}"


def views_of_views(n: int) -> str:
    views = numbered(n, lambda i: f"CREATE VIEW v{i + 1} AS SELECT a, b FROM v{i} WHERE a > {i};", "\n")
    return f"{STREAMS}CREATE VIEW v0 AS SELECT a, b FROM s [RANGE 1 HOUR];\n{views}\nSELECT a FROM v{n}"


def grouped_views(n: int) -> str:
    views = numbered(n, lambda i: f"CREATE VIEW v{i + 1} AS SELECT a, MAX(b) AS b FROM v{i} GROUP BY a;", "\n")
    return f"{STREAMS}CREATE VIEW v0 AS SELECT a, b FROM s;\n{views}\nSELECT a FROM v{n}"


def doubling_views(n: int) -> str:
    """Each view joins the one below it with itself: 2^n streams."""
    views = numbered(n, lambda i: f"CREATE VIEW v{i + 1} AS SELECT x.a, y.b FROM v{i} x, v{i} y WHERE x.a = y.a;", "\n")
    return f"{STREAMS}CREATE VIEW v0 AS SELECT a, b FROM s [RANGE 1 HOUR];\n{views}\nSELECT a FROM v{n}"


def doubling_sums(n: int) -> str:
    views = numbered(n, lambda i: f"CREATE VIEW v{i + 1} AS SELECT a + a AS a FROM v{i};", "\n")
    return f"{STREAMS}CREATE VIEW v0 AS SELECT a FROM s [RANGE 1 HOUR];\n{views}\nSELECT a FROM v{n}"


def with_queries(n: int) -> str:
    queries = numbered(n, lambda i: f"v{i + 1} AS (SELECT a FROM v{i} WHERE a > {i})")
    return f"{STREAMS}WITH v0 AS (SELECT a FROM s [RANGE 1 HOUR]), {queries} SELECT a FROM v{n}"


def _where(term: Callable[[int], str], separator: str = " AND ") -> Shape:
    return lambda n: f"{STREAMS}SELECT a FROM s [RANGE 1 HOUR] WHERE {numbered(n, term, separator)}"


def _unwindowed_where(term: Callable[[int], str], separator: str = " AND ") -> Shape:
    return lambda n: f"{STREAMS}SELECT a FROM s WHERE {numbered(n, term, separator)}"


def nested_exists(n: int) -> str:
    inner = nested(
        n,
        "TRUE",
        lambda below, level: f"EXISTS (SELECT * FROM t [RANGE 1 HOUR] t{level} WHERE t{level}.a > {level} AND {below})",
    )
    return f"{STREAMS}SELECT a FROM s [RANGE 1 HOUR] WHERE {inner}"


def and_of_ors_of_other_columns(n: int) -> str:
    return (
        f"{_wide(2 * n)}SELECT x0 FROM w WHERE {numbered(n, lambda i: f'(x{2 * i} > 1 OR x{2 * i + 1} > 2)', ' AND ')}"
    )


def or_of_ands_of_other_columns(n: int) -> str:
    return (
        f"{_wide(2 * n)}SELECT x0 FROM w WHERE {numbered(n, lambda i: f'(x{2 * i} > 1 AND x{2 * i + 1} > 2)', ' OR ')}"
    )


def or_in_a_join(n: int) -> str:
    return (
        f"{STREAMS}SELECT s.a FROM s, t WHERE {numbered(n, lambda i: f'(s.a = t.a + {i} OR s.b > t.b + {i})', ' AND ')}"
    )


def nots(n: int) -> str:
    return f"{STREAMS}SELECT a FROM s [NOW] WHERE {'NOT ' * n} a > 1"


def nots_in_brackets(n: int) -> str:
    return f"{STREAMS}SELECT a FROM s [NOW] WHERE {'NOT (' * n} a > 1 AND b > 2 {')' * n}"


def in_list(n: int) -> str:
    return f"{STREAMS}SELECT DISTINCT a FROM s WHERE a IN ({numbered(n, str)})"


def in_list_of_a_join(n: int) -> str:
    return f"{STREAMS}SELECT s.a FROM s, t WHERE s.a = t.a AND s.a IN ({numbered(n, str)})"


def case_branches(n: int) -> str:
    branches = numbered(n, lambda i: f"WHEN a = {i} THEN {i}", " ")
    return f"{STREAMS}SELECT DISTINCT CASE {branches} ELSE 0 END AS x FROM s"


def nested_case(n: int) -> str:
    inner = nested(n, "a", lambda below, level: f"CASE WHEN a > {level} THEN {below} ELSE 1 END")
    return f"{STREAMS}SELECT {inner} AS x FROM s [NOW]"


def _chain(term: str, operator: str) -> Shape:
    return lambda n: f"{STREAMS}SELECT {operator.join([term] * n)} AS x FROM s [NOW]"


def nested_functions(n: int) -> str:
    return f"{STREAMS}SELECT {'ABS(' * n}a{')' * n} AS x FROM s [NOW]"


def coalesce(n: int) -> str:
    return f"{STREAMS}SELECT COALESCE({numbered(n, lambda i: f'a + {i}')}) AS x FROM s [NOW]"


def _compared(term: Callable[[int], str], columns: int = 1, distinct: str = "") -> Shape:
    def shape(n: int) -> str:
        declared = _wide(n, name="w") + _wide(n, name="v")
        return f"{declared}SELECT {distinct} w.x0 FROM w, v WHERE {numbered(n, term, ' AND ')}"

    return shape


def inequalities_of_one_stream(n: int) -> str:
    return f"{_wide(n + 1)}SELECT DISTINCT x0 FROM w WHERE {numbered(n, lambda i: f'x{i} < x{i + 1}', ' AND ')}"


def bounded_inequalities(n: int) -> str:
    chain = numbered(n, lambda i: f"x{i} < x{i + 1}", " AND ")
    return f"{_wide(n + 1)}SELECT DISTINCT x0 FROM w WHERE x0 > 0 AND x{n} < 1000000 AND {chain}"


def inequalities_of_all_pairs(n: int) -> str:
    """Some n comparisons, among the square root of n columns."""
    most = max(2, int((2 * n) ** 0.5))
    pairs = [(i, j) for i in range(most) for j in range(i + 1, most)][:n]
    terms = " AND ".join(f"x{i} <= x{j} + {j - i}" for i, j in pairs)
    return f"{_wide(most)}SELECT DISTINCT x0 FROM w WHERE {terms}"


def chain_join(n: int) -> str:
    return _join(n, (f"r{i}.b = r{i + 1}.a" for i in range(n - 1)))


def star_join(n: int) -> str:
    return _join(n, (f"r0.a = r{i}.a" for i in range(1, n)))


def cycle_join(n: int) -> str:
    return _join(n, (f"r{i}.b = r{(i + 1) % n}.a" for i in range(n)))


def clique_join(n: int) -> str:
    """As many comparisons as there are streams, or all pairs of the first few of them."""
    most = min(n, 45)
    return _join(most, (f"r{i}.a = r{j}.a" for i in range(most) for j in range(i)))


def cross_join(n: int) -> str:
    return _join(n, ())


def unbounded_chain_join(n: int) -> str:
    return _join(n, (f"r{i}.b = r{i + 1}.a" for i in range(n - 1)), window="")


def unbounded_star_join(n: int) -> str:
    return _join(n, (f"r0.a = r{i}.a" for i in range(1, n)), window="")


def unbounded_cycle_join(n: int) -> str:
    return _join(n, (f"r{i}.b = r{(i + 1) % n}.a" for i in range(n)), window="")


def unbounded_cross_join(n: int) -> str:
    return _join(n, (), window="")


def unbounded_inequality_join(n: int) -> str:
    return _join(n, (f"r{i}.b < r{i + 1}.a" for i in range(n - 1)), window="")


def punctuated_chain_join(n: int) -> str:
    on = (f"r{i}.b = r{i + 1}.a" for i in range(n - 1))
    return _join(n, on, window="", constraints=", PUNCTUATED BY (a), PUNCTUATED BY (b)")


def punctuated_star_join(n: int) -> str:
    on = (f"r0.a = r{i}.a" for i in range(1, n))
    return _join(n, on, window="", constraints=", PUNCTUATED BY (a)")


def unique_chain_join(n: int) -> str:
    on = (f"r{i}.b = r{i + 1}.a" for i in range(n - 1))
    return _join(n, on, window="", constraints=", UNIQUE (a), CLUSTERED BY (a) WITHIN 10 ROWS")


def joined_by_keyword(n: int) -> str:
    joins = numbered(n, lambda i: f"JOIN r{i + 1} [RANGE 1 HOUR] ON r{i}.b = r{i + 1}.a", " ")
    return f"{_many(n + 1)}\nSELECT r0.a FROM r0 [RANGE 1 HOUR] {joins}"


def outer_joins(n: int) -> str:
    joins = numbered(n, lambda i: f"LEFT JOIN r{i + 1} [RANGE 1 HOUR] ON r{i}.b = r{i + 1}.a", " ")
    return f"{_many(n + 1)}\nSELECT r0.a FROM r0 [RANGE 1 HOUR] {joins}"


def waiting_outer_joins(n: int) -> str:
    joins = numbered(
        n,
        lambda i: (
            f"LEFT JOIN r{i + 1} ON r{i}.b = r{i + 1}.a AND r{i + 1}.ts BETWEEN r{i}.ts AND r{i}.ts + INTERVAL 1 HOUR"
        ),
        " ",
    )
    return f"{_many(n + 1)}\nSELECT ISTREAM(r0.a) FROM r0 {joins}"


def full_outer_joins(n: int) -> str:
    joins = numbered(n, lambda i: f"FULL OUTER JOIN r{i + 1} [RANGE 1 HOUR] ON r{i}.b = r{i + 1}.a", " ")
    return f"{_many(n + 1)}\nSELECT r0.a FROM r0 [RANGE 1 HOUR] {joins}"


def _self_join(distinct: str, window: str) -> Shape:
    def shape(n: int) -> str:
        source = numbered(n, lambda i: f"s{window} s{i}")
        on = numbered(n - 1, lambda i: f"s{i}.a = s{i + 1}.b", " AND ")
        return f"{STREAMS}SELECT {distinct} s0.a FROM {source}" + (f" WHERE {on}" if on else "")

    return shape


def self_join_that_folds(n: int) -> str:
    source = numbered(n, lambda i: f"s s{i}")
    on = numbered(n - 1, lambda i: f"s{i}.a < s{i + 1}.a", " AND ")
    return f"{STREAMS}SELECT DISTINCT s0.b FROM {source} WHERE s0.b > 1 AND s0.b < 9" + (f" AND {on}" if on else "")


def _set_operations(operator: str, distinct: str = "") -> Shape:
    return lambda n: (
        STREAMS + numbered(n, lambda i: f"SELECT {distinct} a FROM s [RANGE 1 HOUR] WHERE b = {i}", f"\n{operator}\n")
    )


def mixed_set_operations(n: int) -> str:
    operators = ("UNION ALL", "EXCEPT", "UNION", "INTERSECT", "EXCEPT ALL")
    return f"{STREAMS}SELECT a FROM s [RANGE 1 HOUR]" + numbered(
        n, lambda i: f"\n{operators[i % 5]} SELECT a FROM s [RANGE 1 HOUR] WHERE b = {i}", ""
    )


def select_list(n: int) -> str:
    return f"{_wide(n)}SELECT {numbered(n, _column)} FROM w [RANGE 1 HOUR]"


def select_star(n: int) -> str:
    return f"{_wide(n)}SELECT * FROM w [RANGE 1 HOUR]"


def grouped_by(n: int) -> str:
    return f"{_wide(n)}SELECT {numbered(n, _column)}, COUNT(*) AS n FROM w GROUP BY {numbered(n, _column)}"


def distinct_columns(n: int) -> str:
    return f"{_wide(n)}SELECT DISTINCT {numbered(n, _column)} FROM w"


def aggregates(n: int) -> str:
    return f"{_wide(n)}SELECT {numbered(n, lambda i: f'SUM(x{i}) AS s{i}')} FROM w [RANGE 1 HOUR]"


def having(n: int) -> str:
    terms = numbered(n, lambda i: f"SUM(x{i}) > {i}", " AND ")
    return f"{_wide(n)}SELECT x0 FROM w [RANGE 1 HOUR] GROUP BY x0 HAVING {terms}"


def declared_streams(n: int) -> str:
    return f"{_many(n)}\nSELECT a FROM r0 [RANGE 1 HOUR]"


def _constrained(constraint: Callable[[int], str], query: str = "SELECT DISTINCT x0 FROM w") -> Shape:
    return lambda n: f"{_wide(n, map(constraint, range(n)))}{query}"


def foreign_keys(n: int) -> str:
    parents = numbered(n, lambda i: f"CREATE STREAM p{i} (k BIGINT, ts TIMESTAMP, UNIQUE (k)) TIMESTAMP BY ts;", "\n")
    references = (f"FOREIGN KEY (x{i}) REFERENCES p{i} (k) WITHIN 10 ROWS" for i in range(n))
    return f"{parents}\n{_wide(n, references)}SELECT DISTINCT w.x0 FROM w, p0 WHERE w.x0 = p0.k"


def joined_foreign_keys(n: int) -> str:
    parents = numbered(n, lambda i: f"CREATE STREAM p{i} (k BIGINT, ts TIMESTAMP, UNIQUE (k)) TIMESTAMP BY ts;", "\n")
    references = (f"FOREIGN KEY (x{i}) REFERENCES p{i} (k) WITHIN 10 ROWS" for i in range(n))
    on = numbered(n, lambda i: f"w.x{i} = p{i}.k", " AND ")
    return f"{parents}\n{_wide(n, references)}SELECT w.x0 FROM w, {numbered(n, lambda i: f'p{i}')} WHERE {on}"


def schemes_of_a_join(n: int) -> str:
    constraints = [f"PUNCTUATED BY (x{i})" for i in range(n)]
    on = numbered(n, lambda i: f"w.x{i} = v.x{i}", " AND ")
    return f"{_wide(n, constraints)}{_wide(n, constraints, 'v')}SELECT w.x0 FROM w, v WHERE {on}"


def scheme_of_many_columns(n: int) -> str:
    constraints = [f"PUNCTUATED BY ({numbered(n, _column)})"]
    on = numbered(n, lambda i: f"w.x{i} = v.x{i}", " AND ")
    return f"{_wide(n, constraints)}{_wide(n, constraints, 'v')}SELECT w.x0 FROM w, v WHERE {on}"


def assertions(n: int) -> str:
    asserted = numbered(
        n, lambda i: f"CREATE ASSERTION k{i} FOR s x THEN EXISTS t y WHERE x.a = y.a AND x.b = y.b;", "\n"
    )
    return f"{STREAMS}{asserted}\nSELECT s.a FROM s [RANGE 1 HOUR], t [RANGE 1 HOUR] WHERE s.a = t.a"


def queries(n: int) -> str:
    return STREAMS + numbered(n, lambda i: f"CREATE QUERY q{i} AS SELECT a FROM s [RANGE 1 HOUR] WHERE a > {i};", "\n")


def unsafe_queries(n: int) -> str:
    return STREAMS + numbered(n, lambda i: f"CREATE QUERY q{i} AS SELECT DISTINCT a FROM s WHERE a > {i};", "\n")


def statements(n: int) -> str:
    return STREAMS + numbered(n, lambda i: f"CREATE VIEW v{i} AS SELECT a FROM s WHERE a > {i};", "\n")


def unsafe_joins(n: int) -> str:
    return _many(10) + numbered(
        n,
        lambda i: (
            f"CREATE QUERY q{i} AS SELECT r{i % 10}.a FROM r{i % 10}, r{(i + 3) % 10} "
            f"WHERE r{i % 10}.a = r{(i + 3) % 10}.b AND r{i % 10}.b > {i};"
        ),
        "\n",
    )


def broken_statements(n: int) -> str:
    return STREAMS + numbered(n, lambda i: f"CREATE VIEW v{i} AS SELECT nowhere{i} FROM s;", "\n")


def unparsable_statements(n: int) -> str:
    return STREAMS + numbered(n, lambda i: f"CREATE VIEW v{i} AS SELECT FROM WHERE;", "\n")


def unknown_columns(n: int) -> str:
    return f"{_wide(n)}SELECT {numbered(n, lambda i: f'y{i}')} FROM w"


def long_string(n: int) -> str:
    return f"{STREAMS}SELECT a FROM s [NOW] WHERE c = '{'x' * n}'"


def long_name(n: int) -> str:
    return f"CREATE STREAM {'x' * n} (a BIGINT, ts TIMESTAMP) TIMESTAMP BY ts; SELECT DISTINCT a FROM {'x' * n}"


def unknown_long_name(n: int) -> str:
    return f"CREATE STREAM {'x' * n} (a BIGINT, ts TIMESTAMP) TIMESTAMP BY ts; SELECT a FROM {'x' * n}y"


def long_comment(n: int) -> str:
    return f"/* {'x ' * n} */ {STREAMS}SELECT a FROM s [NOW]"


def many_comments(n: int) -> str:
    return f"{STREAMS}SELECT a " + "/* x */ " * n + "FROM s [NOW]"


def unterminated_string(n: int) -> str:
    return f"{STREAMS}SELECT a FROM s [NOW] WHERE c = '{'x' * n}"


def unterminated_comments(n: int) -> str:
    return f"{STREAMS}{'/*' * n}"


def long_number(n: int) -> str:
    return f"{STREAMS}SELECT a FROM s [NOW] WHERE a = {'9' * n}"


def long_window(n: int) -> str:
    return f"{STREAMS}SELECT a FROM s [ROWS {'9' * n}]"


def brackets(n: int) -> str:
    return f"{STREAMS}SELECT {'(' * n}a{')' * n} AS x FROM s [NOW]"


def open_brackets(n: int) -> str:
    return STREAMS + "(" * n


def square_brackets(n: int) -> str:
    return f"{STREAMS}SELECT a FROM s {'[' * n}NOW{']' * n}"


def angle_brackets(n: int) -> str:
    return f"{STREAMS}SELECT CAST(a AS {'ARRAY<' * n}INT{'>' * n}) AS x FROM s"


def semicolons(n: int) -> str:
    return ";" * n


def windows(n: int) -> str:
    source = numbered(n, lambda i: f"s [RANGE {i + 1} SECONDS SLIDE {i + 1} SECONDS] s{i}")
    on = numbered(n - 1, lambda i: f"s{i}.a = s{i + 1}.a", " AND ")
    return f"{STREAMS}SELECT s0.a FROM {source}" + (f" WHERE {on}" if on else "")


def counts_that_multiply(n: int) -> str:
    few = numbered(n, lambda i: f"x{i} > 0 AND x{i} < 1000000", " AND ")
    return f"{_wide(n)}SELECT DISTINCT {numbered(n, _column)} FROM w WHERE {few}"


def held_apart(n: int) -> str:
    terms = numbered(
        n, lambda i: f"w.x{i} <> v.x{i} AND w.x{i} > 0 AND w.x{i} < 9 AND v.x{i} > 0 AND v.x{i} < 9", " AND "
    )
    return f"{_wide(n)}{_wide(n, name='v')}SELECT DISTINCT w.x0 FROM w, v WHERE {terms}"


def partitioned_window(n: int) -> str:
    return f"{_wide(n)}SELECT x0 FROM w [PARTITION BY {numbered(n, _column)} ROWS 3]"


def like_patterns(n: int) -> str:
    return f"{STREAMS}SELECT a FROM s [NOW] WHERE c LIKE '{'%a' * n}'"


def scalar_subqueries(n: int) -> str:
    terms = numbered(n, lambda i: f"(SELECT MAX(a) FROM t [RANGE 1 HOUR] WHERE t.a > {i}) AS x{i}")
    return f"{STREAMS}SELECT {terms} FROM s [RANGE 1 HOUR]"


def equal_constants(n: int) -> str:
    return f"{_wide(n)}SELECT DISTINCT x0 FROM w WHERE {numbered(n, lambda i: f'x{i} = {i}', ' AND ')}"


def equal_columns(n: int) -> str:
    return f"{_wide(n + 1)}SELECT DISTINCT x0 FROM w WHERE {numbered(n, lambda i: f'x{i} = x{i + 1}', ' AND ')}"


def aliases(n: int) -> str:
    return f"{STREAMS}SELECT {numbered(n, lambda i: f'a AS x{i}')} FROM s [RANGE 1 HOUR]"


SHAPES: dict[str, Shape] = {
    "nested GROUP BY": nested_group_by,
    "nested SELECT": nested_selects,
    "nested DISTINCT": nested_distinct,
    "views of views": views_of_views,
    "grouped views of views": grouped_views,
    "views that double": doubling_views,
    "sums that double": doubling_sums,
    "WITH queries": with_queries,
    "EXISTS": _where(lambda i: f"EXISTS (SELECT * FROM t [RANGE 1 HOUR] WHERE t.a = s.a AND t.b > {i})"),
    "NOT EXISTS": _where(lambda i: f"NOT EXISTS (SELECT * FROM t [RANGE 1 HOUR] WHERE t.a = s.a AND t.b > {i})"),
    "IN subqueries": _where(lambda i: f"a IN (SELECT b FROM t [RANGE 1 HOUR] WHERE t.a > {i})"),
    "NOT IN subqueries": _where(lambda i: f"a NOT IN (SELECT b FROM t [RANGE 1 HOUR] WHERE t.a > {i})"),
    "unbounded EXISTS": _unwindowed_where(lambda i: f"EXISTS (SELECT * FROM t WHERE t.a = s.a AND t.b > {i})"),
    "unbounded NOT EXISTS": _unwindowed_where(lambda i: f"NOT EXISTS (SELECT * FROM t WHERE t.a = s.a AND t.b > {i})"),
    "nested EXISTS": nested_exists,
    "scalar subqueries": scalar_subqueries,
    "ANDs": _where(lambda i: f"a > {i}"),
    "ORs": _where(lambda i: f"a > {i}", " OR "),
    "AND of ORs, shared columns": _where(lambda i: f"(a > {i} OR b < {i})"),
    "unbounded AND of ORs, shared columns": lambda n: (
        f"{STREAMS}SELECT DISTINCT a FROM s WHERE {numbered(n, lambda i: f'(a = {i} OR b = {i})', ' AND ')}"
    ),
    "AND of ORs, other columns": and_of_ors_of_other_columns,
    "OR of ANDs, shared columns": _where(lambda i: f"(a > {i} AND b < {i})", " OR "),
    "unbounded OR of ANDs": lambda n: (
        f"{STREAMS}SELECT DISTINCT a FROM s WHERE {numbered(n, lambda i: f'(a = {i} AND b = {i})', ' OR ')}"
    ),
    "OR of ANDs, other columns": or_of_ands_of_other_columns,
    "ORs of a join": or_in_a_join,
    "NOTs": nots,
    "NOTs in brackets": nots_in_brackets,
    "IN list": in_list,
    "IN list of a join": in_list_of_a_join,
    "CASE branches": case_branches,
    "nested CASE": nested_case,
    "sum": _chain("a", " + "),
    "product of decimals": _chain("1.5", " * "),
    "concatenation": _chain("c", " || "),
    "minus signs": lambda n: f"{STREAMS}SELECT {'- ' * n}a AS x FROM s [NOW]",
    "comparisons in a chain": _chain("a", " = "),
    "nested functions": nested_functions,
    "COALESCE": coalesce,
    "equalities of two streams": _compared(lambda i: f"w.x{i} = v.x{i}"),
    "inequalities of two streams": _compared(lambda i: f"w.x{i} < v.x{i}"),
    "crossed inequalities, distinct": _compared(lambda i: f"w.x{i} < v.x{i}", distinct="DISTINCT"),
    "inequalities of one stream": inequalities_of_one_stream,
    "bounded inequalities": bounded_inequalities,
    "inequalities of all pairs": inequalities_of_all_pairs,
    "chain join": chain_join,
    "star join": star_join,
    "cycle join": cycle_join,
    "clique join": clique_join,
    "cross join": cross_join,
    "unbounded chain join": unbounded_chain_join,
    "unbounded star join": unbounded_star_join,
    "unbounded cycle join": unbounded_cycle_join,
    "unbounded cross join": unbounded_cross_join,
    "unbounded inequality join": unbounded_inequality_join,
    "punctuated chain join": punctuated_chain_join,
    "punctuated star join": punctuated_star_join,
    "unique chain join": unique_chain_join,
    "JOIN ... ON": joined_by_keyword,
    "LEFT JOIN": outer_joins,
    "LEFT JOIN that waits": waiting_outer_joins,
    "FULL JOIN": full_outer_joins,
    "self-join": _self_join("", " [RANGE 1 HOUR]"),
    "unbounded self-join": _self_join("", ""),
    "distinct self-join": _self_join("DISTINCT", ""),
    "self-join that folds": self_join_that_folds,
    "UNION ALL": _set_operations("UNION ALL"),
    "UNION": _set_operations("UNION"),
    "EXCEPT": _set_operations("EXCEPT"),
    "INTERSECT": _set_operations("INTERSECT"),
    "mixed set operations": mixed_set_operations,
    "select list": select_list,
    "SELECT *": select_star,
    "GROUP BY": grouped_by,
    "DISTINCT columns": distinct_columns,
    "aggregates": aggregates,
    "HAVING": having,
    "aliases": aliases,
    "declared streams": declared_streams,
    "UNIQUE": _constrained(lambda i: f"UNIQUE (x{i})"),
    "CLUSTERED": _constrained(lambda i: f"CLUSTERED BY (x{i}) WITHIN 10 ROWS"),
    "ORDERED": _constrained(lambda i: f"ORDERED BY (x{i}) WITHIN 10 ROWS"),
    "PUNCTUATED": _constrained(lambda i: f"PUNCTUATED BY (x{i})"),
    "FOREIGN KEY": foreign_keys,
    "joined FOREIGN KEY": joined_foreign_keys,
    "schemes of a join": schemes_of_a_join,
    "scheme of many columns": scheme_of_many_columns,
    "assertions": assertions,
    "queries": queries,
    "unsafe queries": unsafe_queries,
    "unsafe joins": unsafe_joins,
    "views": statements,
    "broken statements": broken_statements,
    "unparsable statements": unparsable_statements,
    "unknown columns": unknown_columns,
    "windows": windows,
    "partitioned window": partitioned_window,
    "counts that multiply": counts_that_multiply,
    "held apart": held_apart,
    "LIKE": like_patterns,
    "equal constants": equal_constants,
    "equal columns": equal_columns,
    "brackets": brackets,
    "open brackets": open_brackets,
    "square brackets": square_brackets,
    "angle brackets": angle_brackets,
    "comments": many_comments,
    "unterminated comments": unterminated_comments,
    "long number": long_number,
    "long window": long_window,
}

#: Texts that are long in characters, not in terms.
LONG: dict[str, tuple[Shape, int]] = {
    "string of 10 MB": (long_string, 10_000_000),
    "unterminated string of 10 MB": (unterminated_string, 10_000_000),
    "comment of 10 MB": (long_comment, 5_000_000),
    "name of 100 KB": (long_name, 100_000),
    "unknown name of 100 KB": (unknown_long_name, 100_000),
    "IN list of 100,000": (in_list, 100_000),
    "10,000 queries": (queries, 10_000),
    "10,000 views": (statements, 10_000),
    "10,000 broken statements": (broken_statements, 10_000),
    "10,000 unparsable statements": (unparsable_statements, 10_000),
    "10,000 brackets": (brackets, 10_000),
    "10,000 open brackets": (open_brackets, 10_000),
    "10,000 square brackets": (square_brackets, 10_000),
    "10,000 unterminated comments": (unterminated_comments, 10_000),
    "10,000 NOTs": (nots, 10_000),
    "5,000 ANDs": (_where(lambda i: f"a > {i}"), 5_000),
    "100,000 semicolons": (semicolons, 100_000),
    "pattern of 100,000": (like_patterns, 100_000),
    "100,000 digits": (long_number, 100_000),
}
