"""Communication between the front and session processes: frames, the scoreboard, slots for large messages."""
