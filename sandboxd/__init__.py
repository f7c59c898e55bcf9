"""sandboxd: the node daemon that keeps, mounts and runs Perlica's sandboxes.

It is the only privileged part. The service talks to it over HTTP and imports `sandboxd.wire` alone.
"""

__version__ = "0.1.0"
