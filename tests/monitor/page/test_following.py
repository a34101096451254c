"""A query on Spark is followed from Python: its page shows what the driver reports, and what is set reaches it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.engines.metrics import OperatorMetrics
from penstock.monitor.control import Controls
from penstock.monitor.page.following import follow
from penstock.monitor.page.recorder import Recorder
from penstock.plan.setting_change import SettingChange
from penstock.plan.settings import Settings


class Started:
    """A query that does one micro-batch after it was given settings, and ends."""

    def __init__(self) -> None:
        self.settings = Settings()
        self.not_adjustable: Mapping[str, str] = {}
        self.changes: list[SettingChange] = []
        self.looks = 0

    @property
    def is_running(self) -> bool:
        self.looks += 1
        return self.looks == 1

    def adjust(self, settings: Settings, changes: Sequence[SettingChange] = ()) -> None:
        self.settings = settings
        self.changes += changes

    def filter_orders(self) -> dict[str, tuple[tuple[str, ...], tuple[int, ...]]]:
        return {}

    def operators(self, after: int = -1) -> list[OperatorMetrics]:
        return [OperatorMetrics(0, 7, "q", "source", stream="s", rows_in=5)] if after < 0 else []


def test_what_is_set_on_the_page_reaches_a_query_that_is_followed() -> None:
    query = Started()
    controls = Controls([query])
    recorder = Recorder({"nodes": []}, controls=controls)
    recorder.controls.set("purge_every", "500")  # type: ignore[union-attr]
    assert query.changes == []
    follow(query, recorder, controls).join(10)
    assert query.changes == [SettingChange("purge_every", "eager", "500")]
    assert query.settings.forgetting.rows == 500
    assert not recorder.is_live
    assert recorder.document()["frames"]
