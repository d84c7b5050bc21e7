"""What a session process serves for the front, on the link: orders, and requests of clients that it relays."""
