"""Makes through the gateway: the queue, the choice of a server, and repeats."""
