"""A session on the client's side, without I/O: numbered requests, answers, and their recording.

Why without I/O: what a session has to get right is an order of events (an answer, a broken connection, a timeout, a
caller who gives up), and orders can be tested in microseconds, without sockets or clocks. Blocking and asyncio drivers
run the same `ClientSession`.

A broken connection leaves a doubt: nobody here can know whether the last request was served. The way out of it is the
number that each request carries. The server serves a number once and keeps its answer, so the client repeats an
unanswered request until it has an answer, on any connection (`resuming` says how long). If its caller stops waiting,
the request is in doubt, and is repeated before the next one. `states` has the whole of this as one table; `repeating`
walks through it for both drivers.

`recording` keeps the requests that change an environment and a digest of the answers, so that a lost session can be
replayed. What a request says and how its answer is read is in `operations` and `attributes`; a direct channel, a stream
and unary calls carry the same bytes.
"""
