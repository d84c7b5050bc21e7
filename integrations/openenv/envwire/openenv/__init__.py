"""The bridge for OpenEnv: its HTTP and WebSocket protocol on one side, `envwire.client.RemoteEnv` on the other.

A WebSocket at BASE/ENV_ID/ws is one session. JSON carries values without dtypes; docs/openenv.md says what is lost.
"""
