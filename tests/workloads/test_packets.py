"""Handshakes: the generator keeps its assertions, and a capture gives the packets of its handshakes."""

from __future__ import annotations

import socket
from collections import Counter
from pathlib import Path

import duckdb
import pytest

from penstock import Session, check
from penstock.errors import PenstockError
from penstock.workloads import packets
from penstock.workloads.files import write_files

dpkt = pytest.importorskip("dpkt")

CLIENT, SERVER = socket.inet_aton("10.0.0.1"), socket.inet_aton("10.0.0.2")
SYN, ACK, RST = 0x02, 0x10, 0x04


def frame(source: bytes, target: bytes, sport: int, dport: int, flags: int) -> bytes:
    tcp = dpkt.tcp.TCP(sport=sport, dport=dport, flags=flags)
    ip = dpkt.ip.IP(src=source, dst=target, p=dpkt.ip.IP_PROTO_TCP, data=tcp)
    return bytes(dpkt.ethernet.Ethernet(data=ip, type=dpkt.ethernet.ETH_TYPE_IP))


def test_a_capture_gives_the_first_packets_of_each_handshake(tmp_path: Path) -> None:
    sent = [
        (1.0, frame(CLIENT, SERVER, 5000, 80, SYN)),
        (1.1, frame(CLIENT, SERVER, 5000, 80, SYN)),  # sent again
        (1.2, frame(SERVER, CLIENT, 80, 5000, SYN | ACK)),
        (1.3, frame(CLIENT, SERVER, 5000, 80, ACK)),
        (1.4, frame(CLIENT, SERVER, 5000, 80, ACK)),  # data
        (2.0, frame(CLIENT, SERVER, 5001, 80, SYN)),
        (2.5, frame(SERVER, CLIENT, 80, 5001, SYN | ACK)),
        (3.0, frame(CLIENT, SERVER, 5001, 80, RST | ACK)),  # refused
    ]
    with (tmp_path / "a.pcap").open("wb") as file:
        writer = dpkt.pcap.Writer(file)
        for seconds, data in sent:
            writer.writepkt(data, ts=seconds)
    found = packets.read_capture(tmp_path / "a.pcap")
    flow = "10.0.0.1:5000>10.0.0.2:80"
    assert {name: table.column("ip").to_pylist() for name, table in found.items()} == {
        "syn": [flow, "10.0.0.1:5001>10.0.0.2:80"],
        "synack": [flow, "10.0.0.1:5001>10.0.0.2:80"],
        "ack": [flow],
    }


def test_what_is_no_capture_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.pcap").write_text("no capture")
    with pytest.raises(PenstockError, match=r"a\.pcap"):
        packets.read_capture(tmp_path / "a.pcap")


def test_generated_packets_are_counted_within_their_intervals(tmp_path: Path) -> None:
    packets.write(tmp_path, 20_000, rate=10)
    text = packets.ddl(tmp_path) + packets.QUERIES
    assert all(verdict.safe for verdict in check(text))
    found = {query.name: query for query in Session().sql(text)}["approximated"].to_arrow().to_pylist()
    truth = dict(
        duckdb.sql(f"""
            SELECT epoch_us(s.time) // 300000000, COUNT(*)
            FROM '{tmp_path}/syn/*.parquet' s JOIN '{tmp_path}/synack/*.parquet' sa USING (ip)
            WHERE ip NOT IN (SELECT ip FROM '{tmp_path}/ack/*.parquet') GROUP BY 1""").fetchall()
    )
    assert len(found) >= 2
    for row in found:
        assert row["_certified"]
        assert row["cnt_low"] <= row["cnt"] <= row["cnt_high"]
        assert row["cnt_low"] <= truth.get(row["tb"], 0) <= row["cnt_high"]


#: A capture of our own on a loopback interface: handshakes that were completed and refused, and SYN packets that were
#: sent alone, as a scanner does. Of each flow the packets before its end.
CAPTURE = Path(__file__).parents[1] / "fixtures" / "captures" / "loopback.pcap"


def test_a_real_capture_is_counted_within_certified_intervals(tmp_path: Path) -> None:
    streams = packets.read_capture(CAPTURE)
    for name, table in streams.items():
        write_files(tmp_path / name, table, 1)
    buckets = packets.QUERIES.replace("UNIX_SECONDS(s.time) / 300", "UNIX_SECONDS(s.time) / 3")
    found = {query.name: query for query in Session().sql(packets.ddl(tmp_path) + buckets)}
    log = found["asked"].to_arrow().to_pylist()
    exact: dict[int, int] = {}
    for row in log:
        exact[row["tb"]] = exact.get(row["tb"], 0) + (row["cnt"] if row["_op"] == "+" else -row["cnt"])
    flows = {name: set(table.column("ip").to_pylist()) for name, table in streams.items()}
    assert sum(exact.values()) == len(flows["synack"] - flows["ack"]) > 50
    assert flows["syn"] - flows["synack"], "some were refused"
    text = packets.ddl(tmp_path) + buckets.replace("APPROXIMATE EMIT ON CLOSE", "APPROXIMATE")
    counted = {query.name: query for query in Session().sql(text)}["approximated"].to_arrow().to_pylist()
    held = Counter[tuple[int, int, int, bool]]()
    for row in counted:
        held[row["tb"], row["cnt_low"], row["cnt_high"], row["_certified"]] += 1 if row["_op"] == "+" else -1
    intervals = {tb: (low, high, certified) for tb, low, high, certified in +held}
    assert {tb for tb, count in exact.items() if count} <= intervals.keys()
    for tb, (low, high, certified) in intervals.items():
        assert certified
        assert low <= exact.get(tb, 0) <= high
