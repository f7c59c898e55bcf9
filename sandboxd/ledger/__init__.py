"""What the daemon remembers of operations: journal, outputs, epoch."""
