"""Asks a farm's gateway whether a session's server is dead, when that server does not answer."""

from __future__ import annotations

from typing import Any

import grpc
from google.protobuf.message import DecodeError

from envwire.client._transports.grpc.grpc_connection import open_channel
from envwire.client.credentials import Credentials
from envwire.client.errors import RemoteError
from envwire.farm.v1 import farm_pb2

_LOCATE = f"/{farm_pb2.DESCRIPTOR.services_by_name['FarmService'].full_name}/Locate"
_ANSWER_SECONDS = 1.0


def is_server_dead(target: str, credentials: Credentials, session_id: str, silent: bool) -> bool:
    """Returns whether a gateway reports that the server of a session is dead.

    If `target` is not a gateway, does not answer or does not know, the server counts as alive.

    Args:
        target: HOST:PORT, possibly of a gateway.
        credentials: Certificates and token.
        session_id: The session.
        silent: Whether the server did not answer this client's probes either.
    """
    request = farm_pb2.LocateRequest(session_id=session_id, silent=silent).SerializeToString()
    try:
        with open_channel(target, credentials) as channel:
            unary: Any = channel.unary_unary
            raw = unary(_LOCATE)(request, timeout=_ANSWER_SECONDS, metadata=credentials.metadata)
        answer = farm_pb2.LocateResponse.FromString(raw)
    except (grpc.RpcError, DecodeError, RemoteError):
        return False
    return answer.liveness == farm_pb2.LocateResponse.LIVENESS_DEAD
