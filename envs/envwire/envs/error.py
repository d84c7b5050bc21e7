"""The exceptions of the Env API, with Gymnasium's names.

Nearly all are an `Error`:

Exception
├── Error
│   ├── UnregisteredEnv
│   │   ├── NamespaceNotFound
│   │   ├── NameNotFound
│   │   └── VersionNotFound
│   ├── DeprecatedEnv
│   ├── RegistrationError
│   ├── DependencyNotInstalled
│   ├── UnsupportedMode
│   ├── InvalidMetadata
│   ├── ResetNeeded
│   ├── InvalidAction
│   ├── MissingArgument
│   ├── InvalidProbability
│   └── InvalidBound
├── AlreadyPendingCallError
├── NoAsyncCallError
├── ClosedEnvironmentError
├── CustomSpaceError
└── ImportError
    └── DeprecatedWrapper
"""
# ruff: noqa: N818 - the names are the Env API's, with or without an "Error" suffix


class Error(Exception):
    """The base of nearly all errors about environments, spaces and wrappers."""


class UnregisteredEnv(Error):
    """No environment is registered under the id that was asked for."""


class NamespaceNotFound(UnregisteredEnv):
    """The id's namespace, the part before the slash, is unknown."""


class NameNotFound(UnregisteredEnv):
    """The id's namespace has no environment of that name."""


class VersionNotFound(UnregisteredEnv):
    """The environment has no such version."""


class DeprecatedEnv(Error):
    """The id names a version that newer ones have replaced."""


class RegistrationError(Error):
    """An environment was registered under an id that is malformed or conflicts with another."""


class DependencyNotInstalled(Error):
    """An environment or wrapper needs a package that is not installed."""


class UnsupportedMode(Error):
    """The environment does not have the render mode that was asked for."""


class InvalidMetadata(Error):
    """The metadata of an environment is missing an entry or has one of the wrong type."""


class ResetNeeded(Error):
    """``step`` or ``render`` was called before ``reset``."""


class InvalidAction(Error):
    """The action is not an element of the action space."""


class MissingArgument(Error):
    """A constructor lacks an argument that it needs."""


class InvalidProbability(Error):
    """A probability is outside of [0, 1]."""


class InvalidBound(Error):
    """A lower and an upper bound do not describe an interval that can be used."""


class DeprecatedWrapper(ImportError):
    """A wrapper was imported under a name that is no longer in use."""


class _CallError(Exception):
    """A vector environment's asynchronous call came out of order.

    Attributes:
        name: The method that is pending, or that was expected to be.
    """

    name: str

    def __init__(self, message: str, name: str) -> None:
        super().__init__(message)
        self.name = name

    def __reduce__(self) -> tuple[type[Exception], tuple[str, str]]:
        """Makes pickling pass both arguments, which `Exception` alone would not."""
        return type(self), (str(self), self.name)


class AlreadyPendingCallError(_CallError):
    """An asynchronous call was started while another one is still waiting for its result."""


class NoAsyncCallError(_CallError):
    """A result was awaited although no asynchronous call is under way."""


class ClosedEnvironmentError(Exception):
    """A vector environment was used after ``close``."""


class CustomSpaceError(Exception):
    """A user's own class of `Space` lacks a function that must be registered for it."""
