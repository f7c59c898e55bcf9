"""What the console reads: rows as they are shown, never changed, whatever they hold.

Every text column is read as bytes and decoded here, so that a damaged one is shown damaged instead
of failing the page; long ones are cut by SQLite. Nothing here names a digest or a signed block.
"""
