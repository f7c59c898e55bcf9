"""Measurements of the real service on this machine, next to a peer or the floor under it.

Each module offers `rows()`, a list of dicts as `benchmarks.table.Row` describes them; `make bench`
runs all of them. A module that cannot measure returns a row that says why.
"""
