"""Where direct channels begin: connections are accepted, identified, and handed to the process of their session."""
