"""TCP handshakes: the SYN, SYN-ACK and ACK packets of a capture as three streams, and streams with the same statistics.

Koudas et al. (001) count the handshakes that are not completed. A packet is a row of its time and of its flow, the
addresses and ports of both ends, written from the client's side. A capture is read with dpkt, the extra
`penstock[packets]`; only the first ACK of a flow after its SYN-ACK completes it, and packets sent again are left out.
"""

from __future__ import annotations

import socket
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from penstock.errors import PenstockError
from penstock.types import SECOND
from penstock.workloads.files import write_files

STREAMS = ("syn", "synack", "ack")

#: What the assertions promise, in microseconds: each packet comes so soon after the one before.
SOON = SECOND
#: For so long a flow's addresses and ports are its own.
OWN = 10 * SECOND
BUCKET = 300

_QUESTION = f"""
SELECT tb, COUNT(*) AS cnt
FROM syn s, synack sa
WHERE s.ip = sa.ip AND sa.time >= s.time AND sa.time - s.time <= INTERVAL 5 SECONDS
  AND NOT EXISTS (SELECT * FROM ack a
                  WHERE sa.ip = a.ip AND a.time >= sa.time AND a.time - sa.time <= INTERVAL 5 SECONDS)
GROUP BY UNIX_SECONDS(s.time) / {BUCKET} AS tb"""

#: The question of 001, section 2: as a join, and by counters.
QUERIES = f"""
CREATE QUERY asked AS {_QUESTION};
CREATE QUERY approximated AS {_QUESTION}
APPROXIMATE EMIT ON CLOSE;
"""


def ddl(folder: Path) -> str:
    """The three streams, with their files in a folder, and the assertions (i) to (ix) of 001, example 2."""
    lines = [
        f"CREATE STREAM {name} (time TIMESTAMP, VIRTUAL id BIGINT, ip STRING) TIMESTAMP BY time "
        f"USING parquet OPTIONS (path '{folder / name}');"
        for name in STREAMS
    ]
    for name in STREAMS:
        lines.append(
            f"CREATE ASSERTION {name}_key FOR {name} x, {name} y WHERE x.id = y.id "
            "THEN x.ip = y.ip AND x.time = y.time;"
        )
    for before, after in pairwise(STREAMS):
        apart = "y.time >= x.time AND y.time - x.time <= INTERVAL {} SECONDS"
        lines += [
            f"CREATE ASSERTION {after}_flow FOR {before} x, {after} y "
            f"WHERE x.ip = y.ip AND {apart.format(OWN // SECOND)} THEN x.id = y.id;",
            f"CREATE ASSERTION {after}_soon FOR {after} y "
            f"THEN EXISTS {before} x WHERE x.id = y.id AND x.ip = y.ip AND {apart.format(SOON // SECOND)};",
        ]
    return "\n".join(lines)


def write(folder: Path, rows: int, files: int = 1, seed: int = 0, rate: int = 2_000) -> None:
    """Parquet files of about so many packets in all: 3 SYN, 3 SYN-ACK and 2.9 ACK of ten, but for attacks."""
    for name, table in generated(rows, seed, rate).items():
        write_files(folder / name, table, files)


def generated(rows: int, seed: int = 0, rate: int = 2_000) -> dict[str, pa.Table]:
    """The three streams: Poisson arrivals with bursts, log-normal round trips below a second, and some attacks.

    An attack is half a minute in which as many SYN packets again come that are answered, and never completed.
    """
    random = np.random.default_rng(seed)
    flows = max(1, rows * 10 // 29)
    gaps = random.exponential(SECOND / rate, flows) * np.where(random.random(flows) < 0.1, 0.05, 1.1)
    syn = np.cumsum(gaps).astype(np.int64)
    attacked = (syn // (30 * SECOND)) % 20 == 7  # half a minute in ten
    answered = syn + _round_trip(random, flows)
    completed = answered + _round_trip(random, flows)
    is_lost = np.where(attacked, random.random(flows) < 0.5, random.random(flows) < 0.03)
    ip = _addresses(random, flows)
    is_answered = random.random(flows) < 0.995
    return {
        "syn": _packets(syn, ip, np.ones(flows, np.bool_)),
        "synack": _packets(answered, ip, is_answered),
        "ack": _packets(completed, ip, is_answered & ~is_lost),
    }


def _round_trip(random: np.random.Generator, count: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Most answers take some tens of milliseconds, none takes a second."""
    return np.minimum(random.lognormal(-3.0, 0.8, count) * SECOND, SOON - 1).astype(np.int64)


def _addresses(random: np.random.Generator, count: int) -> pa.Array:
    """A flow has a client and a port that no other flow has had for long."""
    client = random.integers(0, 250, count)
    numbers = np.arange(count)
    texts = np.char.add(np.char.add("10.0.", client.astype(str)), np.char.add(":", numbers.astype(str)))
    return pa.array(texts.astype(object), pa.string())


def _packets(
    times: np.ndarray[tuple[int], np.dtype[np.int64]], ip: pa.Array, some: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> pa.Table:
    numbers = np.flatnonzero(some)
    order = numbers[np.argsort(times[numbers], kind="stable")]
    time = pa.array(times[order], pa.int64()).cast(pa.timestamp("us", tz="UTC"))
    return pa.table({"time": time, "ip": ip.take(pa.array(order))})


def read_capture(path: Path) -> dict[str, pa.Table]:
    """The handshakes of a pcap file as the three streams; packets of anything else are passed over."""
    try:
        import dpkt  # type: ignore[import-untyped]  # noqa: PLC0415
    except ImportError as error:
        raise PenstockError(
            "captures are read with dpkt, which is not there", "pip install 'penstock[packets]'"
        ) from error
    found: dict[str, list[tuple[int, str]]] = {name: [] for name in STREAMS}
    state: dict[str, str] = {}
    try:
        with path.open("rb") as file:
            for seconds, frame in dpkt.pcap.UniversalReader(file):
                packet = _handshake(dpkt.ethernet.Ethernet(frame).data)
                if packet is not None:
                    _note(packet, round(seconds * SECOND), state, found)
    except (OSError, ValueError, dpkt.Error) as error:
        raise PenstockError(f"{path}: {error}", "give a capture of Ethernet frames, pcap or pcapng") from error
    return {name: _table(packets) for name, packets in found.items()}


def _handshake(ip: object) -> tuple[str, str] | None:
    """Which packet of a handshake it may be, and of which flow, from the client's side."""
    tcp = getattr(ip, "data", None)
    flags = getattr(tcp, "flags", None)
    if flags is None or not hasattr(ip, "src"):
        return None
    ends = [(_address(ip.src), tcp.sport), (_address(ip.dst), tcp.dport)]  # type: ignore[attr-defined,union-attr]
    is_syn, is_ack, is_over = flags & 0x02, flags & 0x10, flags & 0x05
    kind = "synack" if is_syn and is_ack else "syn" if is_syn else "ack" if is_ack and not is_over else None
    if kind is None:
        return None
    client, server = ends[::-1] if kind == "synack" else ends
    return kind, f"{client[0]}:{client[1]}>{server[0]}:{server[1]}"


def _note(packet: tuple[str, str], time: int, state: dict[str, str], found: dict[str, list[tuple[int, str]]]) -> None:
    """Takes a packet if it is the next one of its flow's handshake; a SYN begins another."""
    kind, flow = packet
    follows = {"syn": None, "synack": "syn", "ack": "synack"}[kind]
    if (kind == "syn" and state.get(flow) != "syn") or (follows is not None and state.get(flow) == follows):
        state[flow] = kind
        found[kind].append((time, flow))


def _address(raw: bytes) -> str:
    return socket.inet_ntop(socket.AF_INET if len(raw) == 4 else socket.AF_INET6, raw)


def _table(packets: list[tuple[int, str]]) -> pa.Table:
    packets.sort(key=lambda packet: packet[0])
    times = pa.array([time for time, _ in packets], pa.int64()).cast(pa.timestamp("us", tz="UTC"))
    return pa.table({"time": times, "ip": pa.array([flow for _, flow in packets], pa.string())})
