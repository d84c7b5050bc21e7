"""Engines start and stop the servers of a farm; they carry no traffic."""
