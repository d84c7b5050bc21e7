"""The scenarios, a file for each subject."""
