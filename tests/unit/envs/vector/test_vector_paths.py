"""The paths that Gymnasium has for the pieces of vector environments, and what starts processes."""

import importlib
import os
import pickle

import gymnasium
import pytest

from envwire.envs.vector import utils
from envwire.envs.vector.utils import CloudpickleWrapper, clear_mpi_env_vars
from tests.unit.envs.toys import Walk


@pytest.mark.parametrize("module", ["misc", "shared_memory", "space_utils"])
def test_pieces_are_where_gymnasium_has_them(module):
    there = importlib.import_module(f"gymnasium.vector.utils.{module}")
    here = importlib.import_module(f"envwire.envs.vector.utils.{module}")
    for name in set(there.__all__) & set(gymnasium.vector.utils.__all__):
        assert getattr(here, name) is getattr(utils, name)


def test_a_lambda_travels():
    pytest.importorskip("cloudpickle")
    copy = pickle.loads(pickle.dumps(CloudpickleWrapper(lambda: Walk(goal=7.0))))
    assert copy().goal == 7.0


def test_mpi_is_hidden_for_a_while(monkeypatch):
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "3")
    monkeypatch.setenv("PATH_OF_PMI_", "kept")
    with clear_mpi_env_vars():
        assert "OMPI_COMM_WORLD_RANK" not in os.environ
        assert os.environ["PATH_OF_PMI_"] == "kept"
    assert os.environ["OMPI_COMM_WORLD_RANK"] == "3"
