"""The servers of a farm as a gateway knows them: which live, which have room, and which take the next Make. No I/O."""
