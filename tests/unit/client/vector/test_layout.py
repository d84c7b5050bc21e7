"""How environments are spread over sessions and servers."""

from __future__ import annotations

import pytest

from envwire.client._vector.layout import Capacity, lay_out


def spread(num_envs: int, batch_size: int, *capacities: Capacity) -> list[tuple[int, int]]:
    """Returns the server and the number of environments of each session."""
    specs = lay_out(num_envs, None, batch_size, capacities)
    assert [spec.start for spec in specs[1:]] == [spec.stop for spec in specs[:-1]]
    assert (specs[0].start, specs[-1].stop) == (0, num_envs)
    return [(spec.target_index, spec.stop - spec.start) for spec in specs]


@pytest.mark.parametrize(
    ("num_envs", "batch_size", "sizes"),
    [(12, 3, [3] * 4), (12, 4, [4] * 3), (12, 6, [6] * 2), (7, 3, [1] * 7), (12, 1, [1] * 12)],
)
def test_a_batch_consists_of_whole_sessions_of_one_size(
    num_envs: int, batch_size: int, sizes: list[int]
) -> None:
    assert [size for _, size in spread(num_envs, batch_size, Capacity(2, 0))] == sizes


def test_no_session_has_more_environments_than_a_server_allows() -> None:
    assert [size for _, size in spread(10, 10, Capacity(1, 4))] == [4, 3, 3]


def test_there_is_a_session_for_each_processor_where_it_runs() -> None:
    assert spread(8, 8, Capacity(3, 0), Capacity(1, 0)) == [(0, 2), (0, 2), (0, 2), (1, 2)]


def test_a_batch_that_cuts_a_session_is_refused() -> None:
    with pytest.raises(ValueError, match="whole sessions of 12/2"):
        lay_out(12, 2, 4, [Capacity(2, 0)])
