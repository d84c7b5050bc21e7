"""The front's state of sessions: their life cycle as a table, the record of each, its backlog, and the table of all."""
