# Two images: `--target perlica`, the service, and `--target sandboxd`, the node daemon.
#
# BASE is a Debian 12 image named by its digest; it has no default, so that nobody builds on a tag that moves:
#   buildah build --build-arg BASE=debian:12-slim@sha256:… --target perlica --tag perlica:0.1.0 .
# It only builds: nothing of it is in the images, which hold the packages listed below and nothing else, in
# particular no shell and no package manager. `python -m tools.image` does the same where no registry can be
# reached, on a base that it makes itself. Which parts are locked: docs/operations/README.md.
ARG BASE

# --- build: a compiler, pip, and the two trees that become the images -------------------------------------
FROM ${BASE} AS build
ARG DEBIAN_FRONTEND=noninteractive
# Where pip looks; the index of pip's own without it.
ARG PIP_INDEX_URL
ARG PIP_NO_CACHE_DIR=1
ARG PIP_DISABLE_PIP_VERSION_CHECK=1
ARG PIP_ROOT_USER_ACTION=ignore
# Times inside compiled files and archives, so that the same sources give the same image.
ARG SOURCE_DATE_EPOCH=0

RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates gcc libc6-dev python3-dev python3-venv

# First what seldom changes: the locked packages, each held to its hash, and no source distribution among them.
# Where a proxy reads along, its certificates are given as the secret `certificates`, which stays out of the images.
COPY tools/requirements/build.txt tools/requirements/run.txt /build/requirements/
RUN --mount=type=secret,id=certificates \
    if [ -f /run/secrets/certificates ]; then export PIP_CERT=/run/secrets/certificates; fi \
 && python3 -m venv /build/tools \
 && /build/tools/bin/pip install --require-hashes --no-deps --only-binary :all: -r /build/requirements/build.txt \
 && python3.11 -m venv --without-pip /opt/perlica \
 && /build/tools/bin/pip --python /opt/perlica/bin/python install --no-compile \
    --require-hashes --no-deps --only-binary :all: -r /build/requirements/run.txt

COPY tools/image_root.py /build/
# What Python and the wheels load; of Python's own library what the service never loads (ncurses, readline,
# Berkeley DB, NIS, SQLite, UUIDs by libuuid) is left without its C library.
RUN python3 /build/image_root.py /build/root \
    base-files libc6 libgcc-s1 libstdc++6 libcrypt1 \
    python3.11-minimal libpython3.11-minimal libpython3.11-stdlib media-types \
    libbz2-1.0 libexpat1 libffi8 liblzma5 libssl3 zlib1g tzdata \
 && python3.11 -m compileall -q --invalidation-mode unchecked-hash -s /build/root -p / /build/root/usr/lib/python3.11

COPY setup.cfg setup.py pyproject.toml README.md LICENSE /build/source/
COPY tools/requirements /build/source/tools/requirements
COPY sql /build/source/sql
COPY perlica /build/source/perlica
COPY actors /build/source/actors
COPY sandboxd /build/source/sandboxd
RUN cd /build/source \
 && /build/tools/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /build/wheel . \
 && /build/tools/bin/pip --python /opt/perlica/bin/python install --no-compile --no-deps /build/wheel/*.whl \
 && find /opt/perlica/bin -mindepth 1 ! -name 'python*' ! -name perlica ! -name sandboxd -delete \
 && python3.11 -m compileall -q --invalidation-mode unchecked-hash /opt/perlica/lib

# What is the same in both: names for the two users, certificates, the directories that get mounts.
RUN cd /build/root \
 && rm -rf boot etc/update-motd.d home media mnt opt srv usr/games usr/include usr/local usr/src \
    var/backups var/cache var/local var/lock var/mail var/spool var/tmp \
 && printf '%s\n' 'root:x:0:0:root:/:/nonexistent' 'perlica:x:10001:10001:perlica:/:/nonexistent' > etc/passwd \
 && printf '%s\n' 'root:x:0:' 'perlica:x:10001:' > etc/group \
 && echo 'hosts: files dns' > etc/nsswitch.conf \
 && printf '%s\n' '127.0.0.1 localhost' '::1 localhost' > etc/hosts \
 && install -D -m 644 /etc/ssl/certs/ca-certificates.crt etc/ssl/certs/ca-certificates.crt \
 && install -d -m 1777 tmp \
 && mkdir -p /build/perlica /build/sandboxd \
 && cp -a . /build/perlica && cp -a . /build/sandboxd

# The service knows of the node daemon only its wire format.
RUN cp -a --parents /opt/perlica /build/perlica \
 && cd /build/perlica \
 && find opt/perlica/lib/python3*/site-packages/sandboxd -mindepth 1 -maxdepth 1 \
      ! -name wire ! -name __init__.py ! -name __pycache__ -exec rm -r {} + \
 && rm opt/perlica/bin/sandboxd \
 && install -d -o 10001 -g 10001 -m 700 var/lib/perlica \
 && install -d etc/perlica etc/perlica-secrets run/sandboxd

# --- perlica: the service -----------------------------------------------------------------------------------
FROM scratch AS perlica
ARG VERSION
LABEL org.opencontainers.image.title="perlica" \
      org.opencontainers.image.description="A careful assistant for one trusted QQ group" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}"
COPY --from=build /build/perlica/ /
ENV PATH=/opt/perlica/bin PYTHONUTF8=1 PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 10001:10001
WORKDIR /
STOPSIGNAL SIGTERM
ENTRYPOINT ["/opt/perlica/bin/perlica"]
CMD ["run"]

# --- sandboxd: the node daemon, the one part that is root ---------------------------------------------------
FROM build AS build-sandboxd
# The runtime, the first process of each sandbox, the makers of disks and images, and what fetches and unpacks images,
# with their libraries. skopeo's policy (etc/containers) comes from golang-github-containers-common; its checks of
# signatures are not used, so gpg is left out.
RUN python3 /build/image_root.py /build/sandboxd \
    crun catatonit xfsprogs squashfs-tools skopeo golang-github-containers-common zstd \
    libassuan0 libdevmapper1.02.1 libgpgme11 libpcre2-8-0 libselinux1 libudev1 \
    libblkid1 libcap2 libgcrypt20 libgpg-error0 libinih1 liblz4-1 liblzo2-2 libseccomp2 libsystemd0 \
    liburcu8 libuuid1 libyajl2 libzstd1 \
 && cp -a --parents /opt/perlica /build/sandboxd \
 && cd /build/sandboxd \
 && rm -r opt/perlica/lib/python3*/site-packages/perlica opt/perlica/lib/python3*/site-packages/actors \
 && rm opt/perlica/bin/perlica \
 && find usr/sbin -mindepth 1 ! -name mkfs.xfs ! -name xfs_repair -delete \
 && rm usr/bin/*zstd?* usr/bin/unzstd usr/bin/pzstd \
 && install -d -m 700 var/lib/sandboxd && install -d run/sandboxd run/sandboxd-socket etc/sandboxd

FROM scratch AS sandboxd
ARG VERSION
LABEL org.opencontainers.image.title="perlica-sandboxd" \
      org.opencontainers.image.description="Keeps and runs the sandboxes of Perlica on one node" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}"
COPY --from=build-sandboxd /build/sandboxd/ /
COPY tools/image_probe.py /opt/perlica/lib/
ENV PATH=/opt/perlica/bin:/usr/sbin:/usr/bin PYTHONUTF8=1 PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 0:0
WORKDIR /
STOPSIGNAL SIGTERM
ENTRYPOINT ["/opt/perlica/bin/sandboxd"]
CMD ["--config", "/etc/sandboxd/sandboxd.toml", "serve"]
