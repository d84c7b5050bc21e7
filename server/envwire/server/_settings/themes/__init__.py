"""A server's settings by theme; `envwire.server.config.ServerConfig` has them all."""
