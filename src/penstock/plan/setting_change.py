"""A setting that was changed while a query runs, as users see it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SettingChange:
    """Values are as they are written to `penstock ctl`."""

    name: str
    before: str
    after: str
