"""The bridge's HTTP documents, for OpenEnv's validator and tools."""

from __future__ import annotations

from typing import Any

from envwire.wire.version import VERSION

HEALTH = {"status": "healthy"}

#: The answer that tells OpenEnv's agents that there are no tools here.
MCP = {
    "jsonrpc": "2.0",
    "id": None,
    "error": {"code": -32601, "message": "Method not found: these environments have no MCP tools"},
}

#: The answer to stateless requests. OpenEnv's own server makes an environment for each, and closes it afterwards.
SOCKET_ONLY = {"detail": "an environment lives as long as a WebSocket here; connect to BASE/ws"}

_SOCKET_ONLY = {
    "501": {"description": "Environments are driven over the WebSocket at BASE/ws only."}
}
_OK = {"200": {"description": "JSON"}}


def metadata(env_id: str) -> dict[str, Any]:
    """Returns the description of an environment, or of the bridge when no id is given."""
    described = f"{env_id} on an envwire server" if env_id else "environments of an envwire server"
    return {"name": env_id or "envwire", "description": described, "version": VERSION}


def openapi(env_id: str) -> dict[str, Any]:
    """Returns the OpenAPI document."""
    return {
        "openapi": "3.1.0",
        "info": {"title": f"envwire: {env_id}" if env_id else "envwire", "version": VERSION},
        "paths": {
            "/reset": {"post": {"responses": _SOCKET_ONLY}},
            "/step": {"post": {"responses": _SOCKET_ONLY}},
            "/state": {"get": {"responses": _SOCKET_ONLY}},
            **{path: {"get": {"responses": _OK}} for path in ("/health", "/metadata", "/schema")},
            "/mcp": {"post": {"responses": _OK}},
        },
    }
