"""The front: admits clients, keeps their sessions and relays their requests. It runs no environment code."""
