"""The commands for the people who keep a node: they ask the running daemon and print."""
