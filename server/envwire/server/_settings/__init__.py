"""Settings described once: options, keys of a file, environment variables, documentation and checks come from it."""
