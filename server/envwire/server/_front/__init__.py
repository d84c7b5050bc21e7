"""The front: admits clients, keeps their sessions and relays their requests. It runs no environment code.

It is the server's only process that listens, and it holds the secrets: certificates, tokens, the secrets of sessions.
Environments are code of others, and run in session processes that have none of these. Neither side trusts the other's
bytes. A client's request is bounded before it is read (`grpc.forwarding`, `ports`), and a session process that answers
what nobody asked is killed.

A Make passes `makes`: a repeated one joins the first, admission checks lists, limits and quotas and reserves a slot, a
process comes from the pool or the fork server. From then on a record in `sessions` has the session's lease, deadlines
and end; `sessions.life` is the table of all ends. Requests over gRPC are relayed unparsed, without the header that
shows the secret. A direct channel is handed to the session process as an open socket (`direct_listener`), and the front
sees no step of it: what it knows then, it reads from the scoreboard in shared memory.

One event loop does all of this, so whatever may take long has a bound: of bytes, of a queue's length, of time.
"""
