"""Gymnasium environments behind gRPC: `envwire.client` drives them, `envwire.server` hosts them.

Wheels have it as `envwire/__init__.py`. In a checkout several folders make up the package, and none of them
can have it.
"""

from __future__ import annotations


def __getattr__(name: str) -> str:
    if name == "__version__":
        from importlib.metadata import version

        return version("envwire")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
