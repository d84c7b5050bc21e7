"""Makes through the gateway: their queue, the choice of a server, and repeated Makes."""
