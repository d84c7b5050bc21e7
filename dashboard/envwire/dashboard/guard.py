"""Middleware that requires the page's key, and lets the browser run only the page's own scripts."""

from __future__ import annotations

import hmac

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Guard:
    """Checks the page's key and adds the security headers.

    The browser sends the key in a header that other sites cannot make it send, which prevents forged requests. A site
    that resolves its own name to this address (DNS rebinding) does not have the key.

    Args:
        app: The application to guard.
        key: The key, required for everything under /api.
    """

    def __init__(self, app: ASGIApp, key: str) -> None:
        self._app = app
        self._authorization = f"Bearer {key}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves a request (ASGI calls this)."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
            await send(message)

        if scope["path"].startswith("/api/") and not self._shown(Headers(scope=scope)):
            text = "this page takes its key: open the address that `envwire dashboard` printed"
            refusal = JSONResponse({"error": text}, 401)
            await refusal(scope, receive, send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)

    def _shown(self, headers: Headers) -> bool:
        shown = headers.get("authorization", "").encode("utf-8", "replace")
        return hmac.compare_digest(shown, self._authorization)
