"""One session: an environment, driven message by message. No I/O happens here.

A session is where "exactly once" is kept. Each request carries a number, one more than the last. The session serves the
next number and keeps the answer; the last number gets the kept answer again, without any effect; any other number is
refused. So a client that lost an answer repeats its request, over whichever connection, and an environment is never
stepped twice for one step of its client. A request that fails uses up its number too: its error is the kept answer.

Bytes come in and go out, so all ways to a session share this code: the link from the front, direct channels, and tests
that call it. `operations` has a table of the requests, `chunks` those with several steps in one, and `replay` serves
the requests of a lost session and digests the answers. The episode's own states (ready, to be reset) are a table in
`states`. `hosted_env` calls the environment, whose code may raise anything: what it raises becomes a fault, and the
session goes on.
"""
