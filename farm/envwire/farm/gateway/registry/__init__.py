"""A gateway's registry of servers, which decides who is live, has room, and gets the next Make. No I/O."""
