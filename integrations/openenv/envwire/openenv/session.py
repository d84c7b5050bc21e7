"""One client's session: OpenEnv's reset, step and state on a `RemoteEnv`. Calls block."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from envwire.client import Credentials, RemoteEnv, SessionLostError
from envwire.openenv import messages
from envwire.openenv.faults import describe_error, refused_make
from envwire.openenv.messages import Code, Message, RefusedError
from envwire.openenv.values import action_of, to_json, to_object


def make(target: str, env_id: str, token: str | None, *, tls: bool) -> RemoteEnv:
    """Makes an environment for a client.

    Args:
        target: HOST:PORT of the envwire server.
        env_id: Id of the environment.
        token: The client's token, if it sent one.
        tls: Whether the server uses TLS; the variable ENVWIRE_CA names the CA to trust.

    Raises:
        RefusedError: FACTORY_ERROR, CAPACITY_REACHED or SESSION_ERROR: the environment could not be made.
    """
    if not env_id:
        raise RefusedError(
            Code.FACTORY_ERROR, "name the environment in the base URL: http://HOST:PORT/CartPole-v1"
        )
    try:
        # Only the client's own token, and no certificate: credentials in the bridge's environment variables are not
        # lent to clients. A token without TLS arrived unprotected already, and does not leave this machine from here.
        credentials = Credentials(cert=None, key=None, token=token, tls=tls, insecure=True)
        return RemoteEnv(target, env_id, credentials=credentials)
    except Exception as error:
        raise refused_make(error) from error


class Session:
    """A client's environment, made when the first message needs it, and its current episode.

    Args:
        making: Makes the environment.
    """

    def __init__(self, making: Callable[[], RemoteEnv]) -> None:
        self._making = making
        self._env: RemoteEnv | None = None
        self._episode_id: str | None = None
        self._step_count = 0
        self._answers = {"reset": self._reset, "step": self._step, "state": self._state}

    def answer(self, message: Message) -> str:
        """Returns the answer to a message.

        Raises:
            RefusedError: The message is invalid, or the environment could not be made or raised.
        """
        answer = self._answers.get(message.kind)
        if answer is None:
            raise RefusedError(Code.UNKNOWN_TYPE, f"unknown type of message {message.kind!r}")
        return answer(message.data)

    def close(self) -> None:
        """Closes the environment, if one was made."""
        if self._env is not None:
            self._env.close()

    def _live(self) -> RemoteEnv:
        if self._env is None:
            self._env = self._making()
        return self._env

    def _reset(self, data: Mapping[str, Any]) -> str:
        env, episode_id = self._live(), data.get("episode_id")
        observed, info = _asked(
            lambda: env.reset(seed=data.get("seed"), options=data.get("options"))
        )
        self._step_count = 0
        self._episode_id = None if episode_id is None else str(episode_id)
        return messages.observation(to_object(observed), None, False, {"info": to_json(info)})

    def _step(self, data: Mapping[str, Any]) -> str:
        env = self._live()
        try:
            action = action_of(env.action_space, data)
        except ValueError as error:
            raise RefusedError(Code.VALIDATION_ERROR, str(error)) from None
        observed, reward, terminated, truncated, info = _asked(lambda: env.step(action))
        self._step_count += 1
        # OpenEnv has one flag for both ends of an episode, and no infos.
        metadata = {"terminated": terminated, "truncated": truncated, "info": to_json(info)}
        done = terminated or truncated
        return messages.observation(to_object(observed), to_json(reward), done, metadata)

    def _state(self, data: Mapping[str, Any]) -> str:
        del data
        return messages.state({"episode_id": self._episode_id, "step_count": self._step_count})


def _asked(request: Callable[[], Any]) -> Any:
    """Calls the environment and maps its errors.

    Raises:
        RefusedError: The environment raised, or its session is lost.
    """
    try:
        return request()
    except SessionLostError as error:
        lost = f"{describe_error(error)} (reset begins a new episode; what happened in this one is gone)"
        raise RefusedError(Code.EXECUTION_ERROR, lost) from error
    except Exception as error:
        raise RefusedError(Code.EXECUTION_ERROR, describe_error(error)) from error
