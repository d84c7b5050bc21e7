"""What a session keeps of its requests, to be replayed after it was lost."""
