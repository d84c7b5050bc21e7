"""The session process's end of direct channels: plain sockets between a client and its session."""
