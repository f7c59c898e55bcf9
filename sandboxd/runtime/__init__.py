"""The OCI runtime: profile of a container, its life, its control groups."""
