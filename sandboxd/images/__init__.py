"""Images: an OCI layout is verified, unpacked, and kept as one squashfs for each manifest."""
