"""What starts the servers of a farm. Engines launch; they carry no traffic."""
