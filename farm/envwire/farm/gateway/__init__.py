"""The gateway of a farm: one address for many servers.

It stores nothing on disk. Servers register with it and report their environments and load; clients make environments
through it and then talk to the server that hosts them. docs/farm.md is the operator's view.
"""
