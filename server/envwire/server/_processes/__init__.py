"""Session processes as the front sees them: starting, linking, limiting and watching them."""
