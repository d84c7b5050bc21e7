"""A session on the client's side, without I/O: numbered requests, answers, and their recording."""
