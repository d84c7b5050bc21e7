# An envwire server. Build it from the top of the repository; `make image` does, with the version and the revision:
#   docker build -f docker/server.Dockerfile -t envwire-server .
#   docker build -f docker/server.Dockerfile -t envwire-server-gl --target gl .
# The second one can draw with OpenGL, in software, for simulators such as MuJoCo.
# `envwire image my-simulator` writes a Dockerfile that puts simulators of your own on top.
ARG BASE=python:3.13-slim-trixie

FROM ${BASE} AS build
# An index of your own, where the default one is out of reach. pip reads it from the environment.
ARG PIP_INDEX_URL
# Simulators to install beside the server, for example "gymnasium[classic-control,toy-text]".
ARG EXTRA_PACKAGES=""
# The newest tini of the release is as good as any: a pin would break with each update of Debian.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends tini \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /build
COPY . .
# Word splitting of EXTRA_PACKAGES is meant; versions are bounded in pyproject.toml.
# hadolint ignore=DL3013,SC2086
RUN pip wheel --no-cache-dir --no-deps --wheel-dir dist . \
    && python -m venv /opt/envwire \
    && /opt/envwire/bin/pip install --no-cache-dir \
        "$(echo dist/*.whl)[server,gymnasium]" ${EXTRA_PACKAGES}

FROM ${BASE} AS base
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="envwire server" \
      org.opencontainers.image.description="Serves reinforcement-learning environments over gRPC" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version=${VERSION} \
      org.opencontainers.image.revision=${REVISION}
# A fixed number: orchestrators check that it is not root, and volumes are given to it by number.
RUN useradd --uid 10001 --create-home --shell /usr/sbin/nologin envwire
COPY --from=build /usr/bin/tini-static /usr/bin/tini
COPY docker/healthy.sh /usr/local/bin/envwire-healthy
COPY --from=build /opt/envwire /opt/envwire
# There is no display here: simulators that draw with SDL draw in memory.
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
# A server that drains counts as unhealthy: it takes no more sessions. Where clients need certificates, give one to
# "envwire health" instead.
HEALTHCHECK --interval=5s --timeout=10s --start-period=30s --retries=3 CMD ["envwire-healthy"]
# tini reaps what simulators leave behind, and hands SIGTERM on.
ENTRYPOINT ["/usr/bin/tini", "--", "envwire"]
# --insecure: a container must bind all its addresses to be reached at all. Whoever reaches the port
# can run environments, so let only those in who may: publish it on loopback
# (-p 127.0.0.1:50051:50051 -p 127.0.0.1:50052:50052) or keep it on a private network.
# --direct-port: Python clients step several times faster over it; without it they use gRPC.
# --drain-timeout: with the 5 s that a hung simulator is given, it fits in the 10 s of `docker stop`.
CMD ["serve", "CartPole-v1", "--host", "0.0.0.0", "--insecure", "--direct-port", "50052", "--drain-timeout", "4"]

# OpenGL without a display and without a graphics card: Mesa renders in software.
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

# The last stage is what is built unless --target names another.
FROM base
