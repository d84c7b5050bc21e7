"""How tests are cut: no row of a table is forgotten, and each value of a matrix has a test that `make test` runs."""

from __future__ import annotations

from itertools import product

import pytest

from tests.each import each
from tests.tiers import cross, examples, first


def test_all_rows_that_fail_are_told() -> None:
    seen = []

    @each(("left", "right"), [(1, 1), (1, 2), (2, 3), (4, 4)])
    def are_equal(left: int, right: int) -> None:
        seen.append(left)
        assert left == right

    with pytest.raises(AssertionError, match=r"2 of 4 rows fail\n\(1, 2\):(.|\n)*\(2, 3\):"):
        are_equal()
    assert seen == [1, 1, 2, 4]


@each("value", {"one": 1, "two": 2})
@pytest.mark.parametrize("factor", [1, 2])
def test_rows_go_with_other_arguments(value: int, factor: int, tmp_path: object) -> None:
    assert value * factor in (1, 2, 4)
    assert tmp_path


def test_a_table_without_rows_is_noticed() -> None:
    with pytest.raises(AssertionError, match="tests nothing"):
        each("value", [])


def test_each_value_of_a_matrix_is_quick_and_all_combinations_are_there() -> None:
    axes = [1, 2], {"a": "A", "b": "B", "c": "C"}, [True, False]
    found = cross(*axes)
    assert {param.values for param in found} == set(product([1, 2], "ABC", [True, False]))
    quick = [param.values for param in found if not param.marks]
    assert quick == [
        (1, "A", True),
        (1, "A", False),
        (1, "B", True),
        (1, "C", True),
        (2, "A", True),
    ]
    assert found[0].id == "1-a-True"


def test_the_first_values_are_quick() -> None:
    assert [bool(param.marks) for param in first([1, 2, 3], 2)] == [False, False, True]


def test_a_fifth_of_the_examples_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [examples(count).max_examples for count in (200, 20)] == [40, 10]
    monkeypatch.setenv("EXAMPLES", "all")
    assert examples(200).max_examples == 200
