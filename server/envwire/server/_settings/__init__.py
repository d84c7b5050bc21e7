"""Settings described once: options, TOML keys, environment variables, documentation and checks follow."""
