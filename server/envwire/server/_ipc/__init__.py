"""What the front and a session process share: frames, the scoreboard and slots for large messages."""
