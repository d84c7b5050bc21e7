"""The session process: its event loop, connections and exit, and the fork server.

The fork server imports the environments once and forks a process for each session, in milliseconds. The new process
first gives up what it does not need (`session_start`, `confining`): files, privileges, the reach to other processes,
memory beyond its limit. It never had a secret of the server.

Then it waits, in one thread, for frames on three kinds of sockets. Only the front writes on the link; clients' requests
come there in frames of a kind of their own, so that no client can write an order. Over the control socket the front
hands over descriptors: direct channels, files of recordings. Direct channels are clients' own connections (`direct`).
Whichever way a request came, the same session serves it.

The environment is called in this thread too, and may block it for as long as it likes: the front watches the
scoreboard, and kills a process whose step takes too long. With `envwire serve --exec`, the environment is a program of
its own, a child of the session process (`program`), which may be lent the client's connection.
"""
