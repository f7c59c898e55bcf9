-- The global image, the sandboxes made of it, and what was done to them.

-- One row: the global image.
CREATE TABLE sandbox_image_config (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    reference TEXT NOT NULL,
    digest TEXT NOT NULL CHECK (digest GLOB 'sha256:*'),
    introduction TEXT NOT NULL,
    revision INTEGER NOT NULL CHECK (revision >= 1),
    updated_at_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE sandboxes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    slot INTEGER CHECK (slot BETWEEN 1 AND 3),
    state TEXT NOT NULL CHECK (state IN ('creating', 'ready', 'stopped', 'deleting', 'unconfirmed',
        'deleted', 'lost')),
    state_reason TEXT NOT NULL DEFAULT '',
    purpose TEXT NOT NULL,
    protection_status TEXT NOT NULL CHECK (protection_status IN ('redacted', 'scanned_no_findings')),
    policy_version TEXT NOT NULL,
    finding_count INTEGER NOT NULL,
    node TEXT NOT NULL,
    instance TEXT NOT NULL DEFAULT '',
    image_digest TEXT NOT NULL,
    image_revision INTEGER NOT NULL,
    limits TEXT NOT NULL CHECK (json_valid(limits)),
    network TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    -- Moved by real touches alone; observations leave it.
    last_active_at_ms INTEGER NOT NULL,
    ended_at_ms INTEGER,
    CHECK ((slot IS NULL) = (state IN ('deleted', 'lost')))
) STRICT;
-- A name is in use until its clean-up is confirmed.
CREATE UNIQUE INDEX sandboxes_name ON sandboxes (name) WHERE slot IS NOT NULL;
-- At most three exist, counting those in creation, in deletion and unconfirmed ones.
CREATE UNIQUE INDEX sandboxes_slot ON sandboxes (slot) WHERE slot IS NOT NULL;

-- A sandbox keeps its name, node and image for life, and does not come back from the dead.
CREATE TRIGGER sandboxes_are_bound
BEFORE UPDATE OF id, name, node, image_digest, image_revision, created_at_ms ON sandboxes
BEGIN
    SELECT RAISE(ABORT, 'name, node and image of a sandbox stay');
END;
CREATE TRIGGER sandboxes_end_once BEFORE UPDATE OF state ON sandboxes
WHEN OLD.state IN ('deleted', 'lost') AND NEW.state NOT IN ('deleted', 'lost')
BEGIN
    SELECT RAISE(ABORT, 'the sandbox has ended');
END;

-- What was done in or to a sandbox; the state is the operation's.
CREATE TABLE sandbox_operations (
    operation_id TEXT PRIMARY KEY REFERENCES operations (id) ON DELETE CASCADE,
    sandbox_id INTEGER NOT NULL REFERENCES sandboxes (id),
    kind TEXT NOT NULL CHECK (kind IN ('create', 'exec', 'read', 'write', 'list', 'stop', 'delete')),
    is_write INTEGER NOT NULL CHECK (is_write IN (0, 1)),
    created_at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX sandbox_operations_by_sandbox ON sandbox_operations (sandbox_id);
