"""The gateway of a farm: one address for many servers.

It stores nothing on disk. Servers register with it and report their environments and load; clients make environments
through it and then talk to the server that hosts them. docs/farm.md is the operator's view.

So it takes part in Makes only, and a step costs nothing: a Make is answered with a ticket, signed by the gateway, with
which the client makes its environment on the server itself. Clients that can reach the gateway alone are relayed
(`relaying`), also to servers behind NAT, which keep tunnels open to it.

`registry` and `groups` decide, without I/O and by a clock that is passed in: which servers there are, which is the next
for an id, whose quota is spent, when a group needs another server. `makes` queues Makes while none is free. Engines
beside this package start servers. When the gateway is gone, sessions go on; servers register again when it is back.
"""
