"""`envwire info`: describes an environment, here or on a server."""

from __future__ import annotations

import json
from typing import Any

import typer

from envwire.server.cli import _parameters as shared
from envwire.server.cli._failures import reporting


def info(
    env_id: shared.EnvId,
    target: shared.TargetOption = "",
    imports: shared.Imports = None,
    kwarg: shared.Kwargs = None,
    as_json: shared.AsJson = False,
) -> None:
    """Describe ENV_ID: spaces, render modes, limits and arguments. Makes the environment, here or at --target.

    Example: envwire info FrozenLake-v1 --target localhost:50051
    """
    from envwire.server.cli._author.subject import Subject

    with reporting("info"):
        subject = Subject(env_id, target, imports or (), shared.keyword_arguments(kwarg or ()))
        env = subject.remote() if target else subject.other()
        facts = _facts(env)
        env.close()
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
        return
    width = max(map(len, facts))
    for name, value in facts.items():
        typer.echo(f"{name:<{width}}  {'none' if value is None else value}")


def _facts(env: Any) -> dict[str, Any]:
    spec, metadata = env.spec, env.metadata
    return {
        "id": spec.id,
        "observation space": str(env.observation_space),
        "action space": str(env.action_space),
        "render modes": ", ".join(metadata.get("render_modes") or ()) or None,
        "frames per second": metadata.get("render_fps"),
        "steps of an episode": spec.max_episode_steps,
        "reward threshold": spec.reward_threshold,
        "deterministic": not spec.nondeterministic,
        "arguments": json.dumps(spec.kwargs, default=repr) if spec.kwargs else None,
        "entry point": str(spec.entry_point),
    }
