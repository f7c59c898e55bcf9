-- How much of its disk each sandbox had used when its node last said so; a stopped one keeps it.
CREATE TABLE sandbox_disk_use (
    sandbox_id INTEGER PRIMARY KEY REFERENCES sandboxes (id) ON DELETE CASCADE,
    used_bytes INTEGER NOT NULL CHECK (used_bytes >= 0),
    seen_at_ms INTEGER NOT NULL
) STRICT;
