"""Pykka actors: each owns one concern of the running service (ARCHITECTURE.md, table of actors)."""
