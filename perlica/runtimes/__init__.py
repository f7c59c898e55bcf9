"""Agent runtimes: the contract that turns a conversation into the next turn, and who keeps it."""
