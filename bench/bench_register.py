"""How long the register takes, in CPU time, and how that grows with the streams: chains, stars and rings of joins.

Of a query that is not safe, both are shown: the verdict, and the verdict with its advice.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from penstock.register import Verdict, check_query
from penstock.sql import bind_text

SHAPES: dict[str, Callable[[int], list[tuple[int, int]]]] = {
    "chain": lambda n: [(i, i + 1) for i in range(n - 1)],
    "star": lambda n: [(0, i) for i in range(1, n)],
    "ring": lambda n: [(i, (i + 1) % n) for i in range(n)],
}
KINDS = {
    "nothing declared": "",
    "punctuated": ", PUNCTUATED BY (x), PUNCTUATED BY (y)",
    "unique": ", UNIQUE (x)",
}


def verdict(streams: int, shape: str, declared: str, where: str = "") -> Callable[[], Verdict]:
    declarations = "".join(
        f"CREATE STREAM s{i} (x BIGINT, y BIGINT, z BIGINT, ts TIMESTAMP{declared}) TIMESTAMP BY ts;"
        for i in range(streams)
    )
    joined = " AND ".join(f"s{a}.y = s{b}.x" for a, b in SHAPES[shape](streams))
    sources = ", ".join(f"s{i}" for i in range(streams))
    script = bind_text(f"{declarations} SELECT s0.x, s1.z FROM {sources} WHERE {joined}{where}").checked()
    return lambda: check_query(script.queries[0], script.catalog)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, nargs="*", default=[2, 5, 10, 20, 40, 60])
    args = parser.parse_args()
    print(f"{'join':6} {'declared':18} " + " ".join(f"{n:>8} streams" for n in args.streams))
    for shape in SHAPES:
        for kind, declared in KINDS.items():
            cells = []
            for streams in args.streams:
                run = verdict(streams, shape, declared)
                run()
                start = time.process_time()
                found = run()
                judged = time.process_time()
                advised = f" {(time.process_time() - start) * 1e3:6.1f}" if found.actions else " " * 7
                cells.append(f"{(judged - start) * 1e3:6.1f}{advised} ms")
            print(f"{shape:6} {kind:18} " + " ".join(cells))


if __name__ == "__main__":
    main()
