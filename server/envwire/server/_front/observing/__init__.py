"""What watchers see of a server: its sessions, what happened to them, and pictures of their environments."""
