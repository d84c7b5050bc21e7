"""Commands that ask a server or a gateway and print the answer."""
