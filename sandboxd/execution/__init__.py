"""Commands in a running sandbox: their streams, their end, file access through them."""
