"""The daemon put together: sandboxes, operations, HTTP, start and stop."""
