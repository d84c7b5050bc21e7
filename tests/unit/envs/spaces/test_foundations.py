"""The errors, warnings and seeds that everything else in the core stands on."""

import copy
import pickle

import gymnasium.error
import gymnasium.logger
import numpy as np
import pytest

from envwire.envs import error, logger
from envwire.envs.utils import seeding
from envwire.testing.comparing import identical as same


def exceptions(module):
    return {
        name: [base.__name__ for base in value.__mro__ if not base.__name__.startswith("_")]
        for name, value in vars(module).items()
        if isinstance(value, type) and not name.startswith("_")
    }


def test_the_tree_of_errors_is_gymnasiums():
    assert exceptions(error) == exceptions(gymnasium.error)


def test_the_tree_in_the_docstring_names_every_error():
    assert all(name in error.__doc__ for name in exceptions(error))


@pytest.mark.parametrize("kind", [error.AlreadyPendingCallError, error.NoAsyncCallError])
@pytest.mark.parametrize("clone", [copy.copy, lambda value: pickle.loads(pickle.dumps(value))])
def test_errors_of_asynchronous_calls_name_the_call(kind, clone):
    raised = clone(kind("too early", "step"))
    assert (type(raised), str(raised), raised.name) == (kind, "too early", "step")


def test_the_logger_has_gymnasiums_names():
    public = {name for name in vars(gymnasium.logger) if not name.startswith("_")}
    assert public <= set(vars(logger)) | {"warnings", "colorize"}
    assert (logger.WARN, logger.ERROR, logger.min_level) == (30, 40, 30)


@pytest.mark.parametrize(
    ("log", "text", "category"),
    [
        (logger.warn, "\x1b[33mWARN: 1 of 2\x1b[0m", UserWarning),
        (logger.error, "\x1b[31mERROR: 1 of 2\x1b[0m", UserWarning),
        (logger.deprecation, "\x1b[33mWARN: 1 of 2\x1b[0m", DeprecationWarning),
    ],
)
def test_messages_are_coloured_and_have_a_category(log, text, category):
    with pytest.warns(category) as caught:
        log("%d of %d", 1, 2)
    assert str(caught[0].message) == text
    if log is not logger.error:  # which points at the caller's caller
        assert caught[0].filename == __file__


def test_a_message_without_values_may_have_percent_signs():
    with pytest.warns(UserWarning, match="100% of Text"):
        logger.warn("100% of Text")


def test_a_higher_level_silences(monkeypatch):
    monkeypatch.setattr(logger, "min_level", logger.WARN)
    logger.set_level(logger.ERROR)
    logger.warn("not seen")
    logger.set_level(logger.DISABLED)
    logger.error("not seen")


@pytest.mark.parametrize("seed", [0, 1, 123, 2**64 + 1, True])
def test_generators_are_gymnasiums(seed):
    rng, entropy = seeding.np_random(seed)
    theirs, expected = gymnasium.utils.seeding.np_random(seed)
    assert same(entropy, expected)
    assert same(rng.bit_generator.state, theirs.bit_generator.state)
    assert isinstance(rng, seeding.RNG)


def test_no_seed_takes_entropy_that_can_be_used_again():
    rng, entropy = seeding.np_random()
    assert entropy >= 0
    assert seeding.np_random(entropy)[0].random() == rng.random()


@pytest.mark.parametrize("seed", [-1, 1.0, "1", np.int64(1), (1, 2)])
def test_what_is_no_seed(seed):
    with pytest.raises(error.Error, match="A seed must be"):
        seeding.np_random(seed)
