"""Programs that build and check the tree; nothing of it is installed."""
