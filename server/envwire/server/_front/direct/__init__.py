"""The direct port: accepts connections, authenticates them, and hands them to the process of their session."""
