"""Engines start the servers of a farm; they carry no traffic."""
