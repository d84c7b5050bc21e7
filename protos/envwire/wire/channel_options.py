"""The options that all gRPC channels to servers and gateways share."""

from __future__ import annotations

#: No connection goes through the proxy of http_proxy and its like, which gRPC takes by default, even to this machine.
NO_PROXY = ("grpc.enable_http_proxy", 0)
