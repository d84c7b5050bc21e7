"""`python -m envwire` is the command `envwire`."""

from envwire.server.cli import main

if __name__ == "__main__":
    main()
