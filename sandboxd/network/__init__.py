"""The only way out of a sandbox: a proxy that listens inside its network namespace."""
