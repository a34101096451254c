"""k from rates and latencies (000, A.1 to A.4), against arrivals that do the worst they may."""

from __future__ import annotations

from random import Random

from penstock.algebra.rewrites import normalise
from penstock.catalog import StreamDef
from penstock.closing.declared_k import rows_from_rate
from penstock.closing.kconstraints import Rate, RowCount
from penstock.closing.kconstraints.rates import (
    clustered_by_delay,
    most_rows,
    most_time,
    ordered_by_delays,
    rids_by_latency,
)
from penstock.register import Theory, check_query
from penstock.register.states import ALL_THEORIES
from penstock.register.windows import states
from penstock.sql import bind_text
from tests.reference.kconstraints.rates import ordered_by_timeout


def paced(random: Random, rate: Rate, count: int) -> list[int]:
    """Times at which rows come, in bursts, at the given rate at most."""
    times: list[int] = []
    now = 0
    while len(times) < count:
        if sum(now - rate.per < at <= now for at in times) < rate.most and random.random() < 0.7:
            times.append(now)
        else:
            now += random.choice((1, 1, rate.per))
    return times


def scrambling(values: list[int]) -> int:
    """The largest distance of two values that are out of order: OA(k) holds for no smaller k."""
    return max(
        (
            later - place
            for place in range(len(values))
            for later in range(place, len(values))
            if values[later] < values[place]
        ),
        default=0,
    )


def test_rows_and_times_of_a_rate() -> None:
    random = Random("rate")
    for _ in range(200):
        rate = Rate(random.randint(1, 3), per=random.randint(1, 5))
        times = paced(random, rate, 30)
        for length in range(8):
            for start in range(times[-1]):
                assert sum(start <= at <= start + length for at in times) <= most_rows(rate, length)
    assert most_rows(Rate(), 5) is None
    assert most_time(Rate(most=3), 5) is None
    assert most_time(Rate(least=0), 5) is None


def test_a_1_records_that_are_held_back() -> None:
    """Flows end at some time and are reported then, or after a timeout."""
    random = Random("A.1")
    for _ in range(300):
        rate, timeout = Rate(random.randint(1, 2), per=random.randint(1, 4)), random.randint(0, 6)
        flows = [(at, at - timeout if random.random() < 0.4 else at) for at in paced(random, rate, 25)]
        k = ordered_by_timeout(timeout, rate)
        assert k is not None
        assert scrambling([stopped for _, stopped in flows]) <= k.n


def test_a_1_as_the_appendix_has_it() -> None:
    """15 n with n = 10 records a second, evenly: the row itself is not behind itself."""
    assert ordered_by_timeout(15_000_000, Rate(1, per=100_000)) == RowCount(15 * 10 - 1)


def delayed(random: Random, sent: list[int], least: int, most: int) -> list[int]:
    """What was sent, in the order of arrival."""
    arrivals = [(at + random.choice((least, most, random.randint(least, most))), random.random(), at) for at in sent]
    return [at for _, _, at in sorted(arrivals)]


def test_a_2_rows_that_overtake_each_other() -> None:
    random = Random("A.2")
    for _ in range(400):
        rate, least, jitter = (
            Rate(random.randint(1, 2), per=random.randint(1, 3)),
            random.randint(0, 3),
            random.randint(0, 5),
        )
        k = ordered_by_delays(least, least + jitter, sent=rate)
        assert k is not None
        assert scrambling(delayed(random, paced(random, rate, 25), least, least + jitter)) <= k.n


def test_a_2_the_appendix_is_too_small_if_what_is_sent_is_limited() -> None:
    """A row every 100 ticks, delays from 0 to 350: the appendix says OA(3.5), and here k is 5."""
    arrival_of = {300: 300, 0: 345, 100: 400, 400: 410, 500: 510, 200: 545}
    assert all(0 <= came - sent <= 350 for sent, came in arrival_of.items())
    order = sorted(arrival_of, key=arrival_of.__getitem__)
    assert scrambling(order) == 5
    k = ordered_by_delays(0, 350, sent=Rate(1, per=100))
    assert k is not None
    assert k.n >= 5


def test_a_3_samples_of_one_packet() -> None:
    """Each device samples packets at a rate; a packet passes the devices it passes within a delay."""
    random = Random("A.3")
    for _ in range(200):
        devices, rate, delay = (
            random.randint(1, 3),
            Rate(random.randint(1, 2), per=random.randint(1, 3)),
            random.randint(0, 4),
        )
        samples = sorted(
            (at, random.random(), random.randint(0, 30)) for _ in range(devices) for at in paced(random, rate, 15)
        )
        k = clustered_by_delay(devices, rate, delay)
        assert k is not None
        for place, (at, _, packet) in enumerate(samples):
            for further in range(place + 1, len(samples)):
                if samples[further][2] == packet and samples[further][0] <= at + delay:
                    between = [other for _, _, other in samples[place + 1 : further] if other != packet]
                    assert len(between) <= k.n


def test_6_1_1() -> None:
    assert rids_by_latency(2_000_000, Rate(10_000)) == RowCount(30_000)
    assert rids_by_latency(5, Rate()) is None


def test_a_declared_rate_counts_the_rows_of_windows_and_of_waits() -> None:
    """Rows arrive in bursts, up to a delay after their timestamps; what is held at any time is never more."""
    random = Random("declared")
    for _ in range(60):
        rate, delay = Rate(random.randint(1, 3), per=random.randint(1, 5)), random.randint(0, 4)
        width, latency = random.randint(0, 8), random.randint(0, 6)
        script = bind_text(
            f"CREATE STREAM s (a BIGINT, ts BIGINT, RATE {rate.most} PER {rate.per} MICROSECONDS,"
            f" FOREIGN KEY (a) REFERENCES t (a) LATENCY {latency} MICROSECONDS)"
            f" TIMESTAMP BY ts DELAY {delay} MICROSECONDS;"
            "CREATE STREAM t (a BIGINT, ts BIGINT, UNIQUE (a)) TIMESTAMP BY ts;"
            f"CREATE QUERY held AS SELECT a FROM s [RANGE {width} MICROSECONDS];"
            "CREATE QUERY waiting AS SELECT s.a FROM s, t [RANGE 1 HOUR] WHERE s.a = t.a;"
        ).checked()
        held, waiting = (check_query(query, script.catalog) for query in script.queries)
        (window,) = (state.bound.size for state in held.states)
        (join,) = (state.bound.size for state in waiting.states if state.stream == "s")
        assert window is not None
        assert join is not None
        arrivals = [(at, at - random.randint(0, delay)) for at in paced(random, rate, 40)]
        for now in range(arrivals[-1][0] + 1):
            assert sum(now - width <= ts <= now for _, ts in arrivals) <= window
            assert sum(now - latency <= at <= now for at, _ in arrivals) <= join


def bound_of(text: str) -> int:
    """What the theory says of a query, whether a run does so or not."""
    script = bind_text(text).checked()
    (state,) = states(normalise(script.queries[0]), script.catalog, ALL_THEORIES - {Theory.ARITHMETIC})
    assert state.bound.size is not None
    return state.bound.size


def test_a_3_a_latency_and_a_rate_bound_the_groups_of_a_clustered_stream() -> None:
    """Rows of one packet come within the latency: after k others a packet is over, and so few are open at a time."""
    random = Random("A.3 declared")
    for _ in range(80):
        rate, latency = Rate(random.randint(1, 3), per=random.randint(1, 4)), random.randint(0, 6)
        most = bound_of(
            f"CREATE STREAM hop (p BIGINT, ts BIGINT, CLUSTERED BY p LATENCY {latency} MICROSECONDS,"
            f" RATE {rate.most} PER {rate.per} MICROSECONDS) TIMESTAMP BY ts;"
            "SELECT p, COUNT(*) AS n FROM hop GROUP BY p"
        )
        since: dict[int, int] = {}
        first: dict[int, int] = {}
        for at in paced(random, rate, 60):
            live = [packet for packet, came in first.items() if at - came <= latency]
            packet = random.choice([*live, len(first)])
            assert packet not in first or packet in since, "it was over"
            first.setdefault(packet, at)
            since = {other: others + (other != packet) for other, others in since.items()} | {
                packet: since.get(packet, 0)
            }
            since = {other: others for other, others in since.items() if others <= most - 1}
            assert len(since) <= most


def test_a_1_and_a_2_a_latency_and_a_rate_bound_the_groups_of_an_ordered_stream() -> None:
    """Rows are sent in order, and their latencies differ by so much at most: what is passed by k rows is over."""
    random = Random("A.2 declared")
    for _ in range(80):
        rate, latency = Rate(random.randint(1, 3), per=random.randint(1, 4)), random.randint(0, 6)
        most = bound_of(
            f"CREATE STREAM flow (v BIGINT, ts BIGINT, ORDERED BY v LATENCY {latency} MICROSECONDS,"
            f" RATE {rate.most} PER {rate.per} MICROSECONDS) TIMESTAMP BY ts;"
            "SELECT v, COUNT(*) AS n FROM flow GROUP BY v"
        )
        values = [at - random.randint(0, latency) for at in paced(random, rate, 60)]
        assert scrambling(values) <= most - 1
        for now in range(len(values)):
            passed = max(values[: max(0, now + 2 - most)], default=-1_000)
            assert len({value for value in values[: now + 1] if value >= passed}) <= most


def test_6_1_1_a_latency_and_a_rate_bound_the_rows_of_the_parent() -> None:
    """The row that is referred to comes within the latency, hence within k rows of its stream."""
    random = Random("RIDS declared")
    for _ in range(80):
        rate, latency = Rate(random.randint(1, 3), per=random.randint(1, 4)), random.randint(0, 6)
        script = bind_text(
            f"CREATE STREAM s (a BIGINT, ts BIGINT, FOREIGN KEY (a) REFERENCES t (a) LATENCY {latency} MICROSECONDS)"
            " TIMESTAMP BY ts;"
            f"CREATE STREAM t (a BIGINT, ts BIGINT, UNIQUE (a), RATE {rate.most} PER {rate.per} MICROSECONDS)"
            " TIMESTAMP BY ts;"
        ).checked()
        child = script.catalog.get("s")
        assert isinstance(child, StreamDef)
        found = rows_from_rate(child.constraints[0], child, script.catalog)
        assert found is not None
        parents = paced(random, rate, 40)
        for place, at in enumerate(parents):
            refers = at - random.randint(0, latency)
            assert sum(other >= refers for other in parents[:place]) + 1 <= found.within.k
