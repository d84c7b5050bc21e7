"""What the front knows of each session: its life as a table, its record, its backlog, and the table of all of them."""
