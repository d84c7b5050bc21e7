"""The session process: its loop, its connections, the fork server and how it exits."""
