"""SQLite through APSW: one module for each store, and nothing outside this package speaks SQL.

Every actor opens its own `Database`; text enters a store only as `Protected`, a message of another
group not at all. The schema stands in sql/; each index and trigger says there which rule it holds.
"""
