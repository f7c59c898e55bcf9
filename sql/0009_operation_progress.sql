-- How far commands are that run now; a row goes with the end of its operation.
CREATE TABLE operation_progress (
    operation_id TEXT PRIMARY KEY REFERENCES operations (id) ON DELETE CASCADE,
    output_bytes INTEGER NOT NULL CHECK (output_bytes >= 0),
    -- The last whole line of the output, protected with what stood before it.
    last_line TEXT NOT NULL,
    protection_status TEXT NOT NULL,
    policy_version TEXT NOT NULL,
    finding_count INTEGER NOT NULL CHECK (finding_count >= 0),
    at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
