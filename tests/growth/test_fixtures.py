"""What golden files, examples and docs call safe is flat on data that keeps what they declare."""

from __future__ import annotations

import pytest

from tests.engines.comparing import table
from tests.growth.fixtures import NoData, fixture_data, fixtures, table_data
from tests.growth.measuring import steps_of
from tests.growth.promises import EPOCHS, STEP, growth_over, is_promised, verdict_of

FIXTURES = {fixture.name: fixture for fixture in fixtures()}
SAFE = [name for name, fixture in FIXTURES.items() if is_promised(verdict_of(fixture.script))]


each_safe_fixture = pytest.mark.parametrize("name", SAFE)


@each_safe_fixture
def test_a_safe_fixture_is_flat(name: str) -> None:
    assert_flat(name, 1)


@pytest.mark.slow
@each_safe_fixture
def test_a_safe_fixture_is_flat_in_three_cells(name: str) -> None:
    assert_flat(name, 3)


def assert_flat(name: str, cells: int) -> None:
    script = FIXTURES[name].script
    try:
        epoch, data = fixture_data(script, 4 * EPOCHS)
    except NoData as reason:
        pytest.skip(str(reason))
    steps = steps_of(script.catalog.streams, data, STEP * epoch)
    tables = {definition.name: table(definition, table_data(definition)) for definition in script.catalog.tables}
    grown = growth_over(script, lambda epochs: steps[: epochs // STEP], cells, tables)
    assert not grown, f"in {cells} cells of\n{FIXTURES[name].text}\ngrew: {'; '.join(map(str, grown))}"
