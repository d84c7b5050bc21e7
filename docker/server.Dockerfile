# An envwire server. Build it from the root of the repository; `make image` adds labels of version and revision:
#   docker build -f docker/server.Dockerfile -t envwire-server .
#   docker build -f docker/server.Dockerfile -t envwire-server-gl --target gl .
# The second image renders OpenGL in software, for simulators such as MuJoCo.
# `envwire image my-simulator` writes a Dockerfile that adds your own simulators.
ARG BASE=python:3.13-slim-trixie

FROM ${BASE} AS build
# Another package index, if the default one is unreachable. pip reads it from the environment.
ARG PIP_INDEX_URL
# Simulators to install with the server, for example "gymnasium[classic-control,toy-text]".
ARG EXTRA_PACKAGES=""
# tini is not pinned: any version of the Debian release works, and a pin would break with each update.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends tini \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /build
COPY . .
# Word splitting of EXTRA_PACKAGES is intended; versions are bounded in pyproject.toml.
# hadolint ignore=DL3013,SC2086
RUN pip wheel --no-cache-dir --no-deps --wheel-dir dist . ./farm \
    && python -m venv /opt/envwire \
    && /opt/envwire/bin/pip install --no-cache-dir \
        "$(echo dist/envwire-*.whl)[server,gymnasium]" dist/envwire_farm-*.whl ${EXTRA_PACKAGES}

FROM ${BASE} AS base
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="envwire server" \
      org.opencontainers.image.description="Serves reinforcement-learning environments over gRPC" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version=${VERSION} \
      org.opencontainers.image.revision=${REVISION}
# A fixed uid: orchestrators check that it is not root, and volumes are assigned by uid.
RUN useradd --uid 10001 --create-home --shell /usr/sbin/nologin envwire
COPY --from=build /usr/bin/tini-static /usr/bin/tini
COPY docker/healthy.sh /usr/local/bin/envwire-healthy
COPY --from=build /opt/envwire /opt/envwire
# The container has no display: simulators that use SDL render in memory.
# The HTTP port is for the health check below, and for Prometheus.
ENV PATH=/opt/envwire/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    SDL_VIDEODRIVER=dummy \
    ENVWIRE_HTTP_PORT=50053
# Mount the key and the token file at /run/secrets or /etc/envwire, where environments cannot read them.
# Mount modules of your own here and name them with --import.
WORKDIR /srv/envwire
USER 10001:10001
EXPOSE 50051 50052 50053
STOPSIGNAL SIGTERM
# A draining server counts as unhealthy, because it takes no more sessions. If clients need certificates, give one to
# "envwire health" instead.
HEALTHCHECK --interval=5s --timeout=10s --start-period=60s --retries=3 CMD ["envwire-healthy"]
# tini reaps orphaned processes of simulators, and forwards SIGTERM.
ENTRYPOINT ["/usr/bin/tini", "--", "envwire"]
# --insecure: a container must bind all its addresses to be reachable. Any peer that reaches the port
# can run environments, so restrict access: publish it on loopback
# (-p 127.0.0.1:50051:50051 -p 127.0.0.1:50052:50052) or keep it on a private network.
# --direct-port: Python clients step several times faster over this port; without it they use gRPC.
# --drain-timeout: together with the 5 s for hung simulators, it fits into the 10 s of `docker stop`.
CMD ["serve", "CartPole-v1", "--host", "0.0.0.0", "--insecure", "--direct-port", "50052", "--drain-timeout", "4"]

# OpenGL without a display or a graphics card: Mesa renders in software.
FROM base AS gl
USER 0
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libegl1 libegl-mesa0 libgl1 libgl1-mesa-dri libgles2 \
    && rm -rf /var/lib/apt/lists/*
ENV MUJOCO_GL=egl \
    PYOPENGL_PLATFORM=egl \
    EGL_PLATFORM=surfaceless
USER 10001:10001

# The last stage is built unless --target names another one.
FROM base
