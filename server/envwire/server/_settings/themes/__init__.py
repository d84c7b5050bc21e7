"""A server's settings by theme; `envwire.server.config.ServerConfig` combines them."""
