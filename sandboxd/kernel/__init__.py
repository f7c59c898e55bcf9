"""What the daemon asks of the kernel: steps with readable errors, mounts, devices, namespaces."""
