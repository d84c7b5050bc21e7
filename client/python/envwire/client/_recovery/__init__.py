"""Recovery of environments whose session was lost: raise, truncate or replay.

A session is lost when its server says so, or cannot be reached any more. Connections that break are not losses: the
session repeats its request (see `envwire.client._session`), and nobody notices.

A proxy holds a handle, and the handle the current session. When that is lost, the handle asks its strategy, one class
for each value of `on_lost`: "raise" passes the error on, "truncate" ends the episode with the step that found out, and
"replay" has `bring_back` make the environment again, on another server if needed, send the recorded requests of the
episode, and compare digests of the answers. Only equal digests show that the new environment is where the old one was;
otherwise the caller gets an error, and no wrong observation.

A server that is about to stop says so with its answers. `drain_migration` then makes a session elsewhere, before the
old one is gone. Handles exist for blocking and for asyncio clients; strategies are coroutines that both share, and do
no I/O of their own.
"""
