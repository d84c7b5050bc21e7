"""The gateway of a farm: one address for many servers.

It stores nothing. Servers register with it and say what they make and how busy they are; clients make environments
through it and then talk to the server that has them. docs/farm.md tells it from the outside.
"""
