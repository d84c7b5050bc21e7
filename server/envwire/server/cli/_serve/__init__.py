"""Commands that serve until they are stopped: a server, a gateway, a farm on this machine."""
