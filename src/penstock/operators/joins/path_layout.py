"""The probe paths of a join, laid out as the arrays that kernels read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from penstock.kernels.mjoin import Paths as PathArrays
from penstock.kernels.mjoin import Progress
from penstock.plan.probe_paths import Probe
from penstock.synopsis.indexed_inputs import IndexColumns

#: The probes along each path.
Probes = Sequence[Sequence[Probe]]


class PathLayout:
    """The paths of so many inputs as arrays. `indexes` are numbered as they are given."""

    def __init__(self, inputs: int, probes: Probes, indexes: Iterable[IndexColumns]) -> None:
        self.inputs, self.probes = inputs, probes
        width, depths = len(probes), inputs - 1
        numbers = {key: number for number, key in enumerate(indexes)}
        most = max([1, *(len(columns) for _, columns in numbers)])
        index_columns = np.zeros((len(numbers), most), np.int64)
        targets, of_stages = np.zeros((2, width, depths), np.int64)
        key_inputs, key_columns = np.zeros((2, width, depths, most), np.int64)
        for (_, columns), n in numbers.items():
            index_columns[n, : len(columns)] = columns
        for i, path in enumerate(probes):
            for d, probe in enumerate(path):
                targets[i, d] = probe.target
                of_stages[i, d] = numbers[probe.target, probe.columns]
                for c, (origin, column) in enumerate(probe.sources):
                    key_inputs[i, d, c] = origin
                    key_columns[i, d, c] = column
        self.arrays = PathArrays(index_columns, targets, of_stages, key_inputs, key_columns)

    @property
    def depths(self) -> int:
        return int(self.arrays.targets.shape[1])

    @property
    def most_columns(self) -> int:
        """How many columns an index has at most."""
        return int(self.arrays.index_columns.shape[1])

    def begun(self) -> Progress:
        """The progress of a kernel that has not begun."""
        bound = np.empty(self.inputs, np.int64)
        key = np.empty((self.depths, self.most_columns), np.int64)
        return Progress(np.array([0, -1, 1]), bound, np.empty(self.depths, np.int64), key)


def probed(probes: Probes) -> set[IndexColumns]:
    """By which columns of which inputs rows are found along paths."""
    return {(probe.target, probe.columns) for path in probes for probe in path}
