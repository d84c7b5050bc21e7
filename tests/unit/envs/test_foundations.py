"""What everything in `envwire.envs` stands on: its imports, its public names, its small helpers."""

import copy
import pickle
import subprocess
import sys

import gymnasium
import numpy as np
import pytest

import envwire.envs as gym
from envwire.envs.utils import EzPickle, RecordConstructorArgs, colorize


def run(code):
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_importing_loads_nothing_but_numpy_and_the_standard_library():
    loaded = run(
        "import sys, numpy.random; before = set(sys.modules); from envwire.envs import *;"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    ).split()
    foreign = set(loaded) - sys.stdlib_module_names - {"envwire", "numpy"}
    assert foreign == set()


def test_built_in_envs_and_wrappers_are_loaded_when_they_are_used():
    absent = [
        "envwire.envs.envs.classic_control",
        "envwire.envs.wrappers.common",
        "json",
        "difflib",
    ]
    assert run(
        f"import sys, envwire.envs as gym; print([m in sys.modules for m in {absent}]);"
        "gym.make('CartPole-v1').reset()"
    ) == "[False, False, False, False]\n"  # fmt: skip


@pytest.mark.parametrize(
    "module", ["spaces", "vector", "wrappers", "utils.seeding", "core", "error"]
)
def test_any_module_can_be_imported_first(module):
    run(f"import envwire.envs.{module}; import envwire.envs as gym; gym.make('CartPole-v1')")


def test_public_names_are_gymnasiums():
    not_here = {"experimental"}
    assert set(gym.__all__) == set(gymnasium.__all__) - not_here
    assert all(hasattr(gym, name) for name in gym.__all__)
    assert set(gym.vector.__all__) == set(gymnasium.vector.__all__)
    needs_more_than_numpy = {
        "AtariPreprocessing", "ResizeObservation", "RecordVideo",
        "ArrayConversion", "JaxToNumpy", "JaxToTorch", "NumpyToTorch",
    }  # fmt: skip
    missing = set(gymnasium.wrappers.__all__) - set(gym.wrappers.__all__)
    assert missing == needs_more_than_numpy
    missing = set(gymnasium.wrappers.vector.__all__) - set(gym.wrappers.vector.__all__)
    assert missing == (needs_more_than_numpy | {"HumanRendering"}) - {"AtariPreprocessing"}


def test_module_paths_are_gymnasiums():
    from envwire.envs.envs.classic_control import CartPoleEnv
    from envwire.envs.envs.toy_text import GridWorldEnv
    from envwire.envs.utils.env_checker import check_env, data_equivalence
    from envwire.envs.vector.vector_env import ArrayType, AutoresetMode, VectorWrapper
    from envwire.envs.wrappers.utils import RunningMeanStd, create_zero_array, rescale_box

    assert all((CartPoleEnv, GridWorldEnv, check_env, data_equivalence, ArrayType, AutoresetMode))
    assert all((VectorWrapper, RunningMeanStd, create_zero_array, rescale_box))


@pytest.mark.parametrize("color", ["gray", "red", "crimson"])
@pytest.mark.parametrize("flags", [{}, {"bold": True}, {"highlight": True}])
def test_text_is_coloured_alike(color, flags):
    assert colorize("text", color, **flags) == gymnasium.utils.colorize("text", color, **flags)
    with pytest.raises(KeyError):
        colorize("text", "mauve")


class Simulator(EzPickle):
    def __init__(self, size, scale=1):
        EzPickle.__init__(self, size, scale=scale)
        self.size, self.scale, self.handle = size, scale, (n for n in range(size))


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda obj: pickle.loads(pickle.dumps(obj))])
def test_an_object_is_pickled_as_its_arguments(clone):
    again = clone(Simulator(3, scale=2))
    assert (again.size, again.scale, list(again.handle)) == (3, 2, [0, 1, 2])


def test_the_first_recorded_arguments_win_and_are_copies():
    class Recorder(RecordConstructorArgs):
        def __init__(self, values, **how):
            RecordConstructorArgs.__init__(self, values=values, **how)
            RecordConstructorArgs.__init__(self, other=1)

    values = [1]
    recorder, sharing = Recorder(values), Recorder(values, _disable_deepcopy=True)
    values.append(2)
    assert recorder.saved_kwargs == recorder._saved_kwargs == {"values": [1]}
    assert sharing.saved_kwargs["values"] is values


def test_classes_may_be_subscripted_in_part():
    for cls, count in ((gym.Env, 2), (gym.Wrapper, 4), (gym.vector.VectorEnv, 3)):
        assert len(cls[int].__args__) == count
        assert len(cls[(int,) * count].__args__) == count
        with pytest.raises(TypeError):
            cls[(int,) * (count + 1)]


def test_zeros_need_a_registered_space():
    from envwire.envs.wrappers.utils import create_zero_array

    class Own(gym.spaces.Space):
        pass

    with pytest.raises(gym.error.CustomSpaceError, match="register"):
        create_zero_array(Own())
    with pytest.raises(TypeError, match="Space"):
        create_zero_array(3)


def test_graphs_have_a_zero():
    from envwire.envs.wrappers.utils import create_zero_array

    for edges in (None, gym.spaces.Discrete(2)):
        graph = gym.spaces.Graph(gym.spaces.Box(1, 2, (3,)), edges)
        theirs = gymnasium.wrappers.utils.create_zero_array(
            gymnasium.spaces.Graph(
                gymnasium.spaces.Box(1, 2, (3,)), edges and gymnasium.spaces.Discrete(2)
            )
        )
        ours = create_zero_array(graph)
        assert np.array_equal(ours.nodes, theirs.nodes)
        assert (ours.edges is None) == (theirs.edges is None) == (edges is None)
    assert create_zero_array(gym.spaces.Text(3, min_length=2, charset="ba")) in ("aa", "bb")
