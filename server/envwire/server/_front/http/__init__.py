"""The HTTP port of a server or a gateway: health for probes, and metrics for Prometheus."""
