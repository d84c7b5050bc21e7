"""A gateway's registry of servers: which ones are live, have room, and get the next Make. No I/O."""
