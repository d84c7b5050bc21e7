"""Commands for recordings: export and replay."""
