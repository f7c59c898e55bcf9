"""Power loss: a writer that acknowledges after fsync, ways to cut it off, and a verifier."""
