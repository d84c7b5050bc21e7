"""How the client waits."""
