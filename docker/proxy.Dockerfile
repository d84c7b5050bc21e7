# HAProxy with haproxy.cfg, for use in front of a public server or gateway. `make image` builds it:
#   docker build -f docker/proxy.Dockerfile -t envwire-proxy .
ARG BASE=debian:trixie-slim

FROM ${BASE}
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="envwire proxy" \
      org.opencontainers.image.description="HAProxy in front of an envwire server" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version=${VERSION} \
      org.opencontainers.image.revision=${REVISION}
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends haproxy \
    && rm -rf /var/lib/apt/lists/*
COPY docker/haproxy.cfg /etc/haproxy/haproxy.cfg
# The same user as the server's, because the proxy reads the server's certificates.
USER 10001:10001
HEALTHCHECK --interval=5s --timeout=3s --start-period=10s --retries=3 \
    CMD ["bash", "-c", ": </dev/tcp/127.0.0.1/${ENVWIRE_PROXY_BIND##*:}"]
# -W runs a master process, which reloads certificates and configuration on SIGUSR2.
ENTRYPOINT ["haproxy", "-W", "-db", "-f", "/etc/haproxy/haproxy.cfg"]
