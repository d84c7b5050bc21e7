"""The form of log lines: text for people, JSON for programs."""
