"""`envwire.client` and the packages of `envwire.envs` load their public names when those are first used."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import envwire.envs as gym

PACKAGES = [
    "envwire.client",
    "envwire.envs",
    "envwire.envs.vector",
    "envwire.envs.wrappers",
    "envwire.envs.wrappers.vector",
]


def typed_imports(package):
    """Yields (module, name) of each import that a package shows to type checkers alone."""
    tree = ast.parse(Path(package.__file__).read_text())
    (block,) = [
        n for n in tree.body if isinstance(n, ast.If) and "TYPE_CHECKING" in ast.dump(n.test)
    ]
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        for alias in node.names:
            starred = import_module(node.module).__all__ if alias.name == "*" else [alias.name]
            yield from ((node.module, name) for name in starred)


@pytest.mark.parametrize("name", PACKAGES)
def test_type_checkers_see_what_is_loaded(name):
    package = import_module(name)
    shown = list(typed_imports(package))
    assert sorted(name for _, name in shown) == sorted(package.__all__)
    for module, public in shown:
        assert getattr(package, public) is getattr(import_module(module), public)


@pytest.mark.parametrize("name", PACKAGES)
def test_public_names_are_listed_and_others_refused(name):
    package = import_module(name)
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match=f"'{name}' has no attribute 'absent'"):
        _ = package.absent


def test_the_modules_of_vector_wrappers_are_attributes():
    code = "from envwire.envs import wrappers; print(wrappers.vector.vectorize_reward.__name__)"
    module = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout
    assert module.split() == [b"envwire.envs.wrappers.vector.vectorize_reward"]


def test_a_name_is_looked_up_once():
    assert gym.Env is vars(gym)["Env"]


LOADED = (
    "import sys, {module};"
    "print(*(name for name in sys.modules if name.startswith('envwire.envs.')))"
)


def loaded_by(module):
    """The modules of `envwire.envs` that importing ``module`` loads in a fresh process."""
    command = [sys.executable, "-W", "error", "-c", LOADED.format(module=module)]
    return set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())


@pytest.mark.parametrize(
    ("module", "most"),
    [
        ("envwire.envs", {"_lazy"}),
        ("envwire.envs.error", {"_lazy", "error"}),
        ("envwire.envs.specs", {"_lazy", "error", "specs"}),
        ("envwire.envs.vector", {"_lazy", "vector"}),
        ("envwire.envs.wrappers", {"_lazy", "wrappers"}),
        ("envwire.envs.wrappers.vector", {"_lazy", "wrappers", "wrappers.vector"}),
    ],
)
def test_light_modules_load_little(module, most):
    assert loaded_by(module) == {f"envwire.envs.{name}" for name in most}


@pytest.mark.parametrize("module", ["spaces", "core", "utils.env_checker", "vector.vector_env"])
def test_interfaces_load_no_environment_and_no_wrapper(module):
    rooms = {name.split(".")[2] for name in loaded_by(f"envwire.envs.{module}")}
    assert rooms.isdisjoint({"envs", "wrappers"})


def test_the_built_in_environments_are_registered_before_anyone_looks():
    code = "from envwire.envs.envs.registry import registry; assert 'CartPole-v1' in registry"
    subprocess.run([sys.executable, "-c", code], check=True)
