"""What the checks stand on: a daemon of their own, images, programs, mounts in a chamber."""
