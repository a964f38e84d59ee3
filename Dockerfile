# The image of Treadle: the locked dependencies and the package in one virtual environment, run by a user with no name.
#
# Pin the base by digest where images are built for use:
#   docker build --build-arg PYTHON_IMAGE=python:3.13-slim@sha256:... --build-arg REVISION=$(git rev-parse HEAD) -t treadle:0.1.0 .
ARG PYTHON_IMAGE=python:3.13-slim

FROM ${PYTHON_IMAGE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PYTHONDONTWRITEBYTECODE=1
WORKDIR /src
# Without pip: what is not in the image cannot be used in it.
RUN python -m venv --without-pip /opt/treadle
# The lock alone first, so that a change of the source does not install the dependencies again. Every file's hash is in the lock.
# With --build-arg LOCK=requirements-solver.lock the image has the solver for sets that are placed together.
ARG LOCK=requirements.lock
COPY requirements.lock requirements-solver.lock ./
RUN pip --python /opt/treadle/bin/python install --require-hashes --only-binary=:all: --no-compile --requirement "$LOCK"
# What wheels carry and no program of ours reads: the asynchronous client of Kubernetes, the files that built the one for CEL, tests.
RUN set -eu; \
    cd "$(/opt/treadle/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"; \
    rm -rf kubernetes/aio bazel-project; \
    find . -type d -name tests -prune -exec rm -rf {} +; \
    find . -type f \( -name '*.pyi' -o -name '*.pyx' -o -name '*.pxd' -o -name '*.a' \) -delete
# The package is pure Python: it is copied, so that no build tool outside the lock is fetched.
COPY operator/treadle ./treadle
RUN set -eu; \
    packages="$(/opt/treadle/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"; \
    cp -R treadle "$packages/treadle"; \
    printf '#!/opt/treadle/bin/python\nimport sys\n\nfrom treadle.cli import main\n\nsys.exit(main())\n' > /opt/treadle/bin/treadle; \
    chmod 0755 /opt/treadle/bin/treadle; \
    # Compiled here and not by pip, as the root file system is read-only later: without a time in it, so that the layer is the same every time and
    # counts whatever times its files are given.
    /opt/treadle/bin/python -m compileall -q -f -j 0 --invalidation-mode unchecked-hash "$packages"

FROM ${PYTHON_IMAGE}
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="treadle" \
      org.opencontainers.image.description="A batch scheduler for Kubernetes with YARN's queues, shares and explanations" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
ENV PATH=/opt/treadle/bin:$PATH \
    HOME=/tmp \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONSAFEPATH=1 \
    PYTHONUNBUFFERED=1
COPY --from=build /opt/treadle /opt/treadle
# A number, so that runAsNonRoot can be checked by the kubelet.
USER 65532:65532
WORKDIR /tmp
EXPOSE 8080 8081
ENTRYPOINT ["treadle"]
CMD ["run"]
