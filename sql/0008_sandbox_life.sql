-- The life of sandboxes: image switches, nodes and what they were seen to be, clean-up that failed.

-- A sandbox's lifecycle policy stands in its spec: at most seven days without a use.
ALTER TABLE sandboxes ADD COLUMN idle_ms INTEGER NOT NULL DEFAULT 604800000
    CHECK (idle_ms BETWEEN 1 AND 604800000);

-- What may still lie on a node although it should not: a deletion that failed, a sandbox of a node
-- that is lost, one that came back with its node, one that no row of ours explains.
CREATE TABLE orphans (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    sandbox_id INTEGER NOT NULL REFERENCES sandboxes (id),
    cause TEXT NOT NULL
        CHECK (cause IN ('delete_failed', 'unconfirmed', 'node_lost', 'returned', 'unknown')),
    node TEXT NOT NULL,
    name TEXT NOT NULL,
    instance TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'cleared')),
    reason TEXT NOT NULL DEFAULT '',
    attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    next_try_ms INTEGER NOT NULL,
    -- 0 until the group was told.
    is_announced INTEGER NOT NULL DEFAULT 0 CHECK (is_announced IN (0, 1)),
    found_at_ms INTEGER NOT NULL,
    cleared_at_ms INTEGER,
    CHECK ((state = 'cleared') = (cleared_at_ms IS NOT NULL))
) STRICT;
-- A sandbox is an orphan once at a time.
CREATE UNIQUE INDEX orphans_one_open ON orphans (sandbox_id) WHERE state = 'open';
CREATE INDEX orphans_open ON orphans (name) WHERE state = 'open';

CREATE TRIGGER orphans_clear_once BEFORE UPDATE OF state ON orphans
WHEN OLD.state = 'cleared' AND NEW.state <> 'cleared'
BEGIN
    SELECT RAISE(ABORT, 'the orphan is cleared');
END;

-- A lost sandbox gives its slot back, not its name: the node may come back with its files.
CREATE TRIGGER sandboxes_lost_leave_an_orphan AFTER UPDATE OF state ON sandboxes
WHEN NEW.state = 'lost' AND OLD.state <> 'lost'
BEGIN
    UPDATE orphans SET cause = 'node_lost' WHERE sandbox_id = NEW.id AND state = 'open';
    INSERT OR IGNORE INTO orphans (sandbox_id, cause, node, name, instance, state, next_try_ms,
        found_at_ms)
    VALUES (NEW.id, 'node_lost', NEW.node, NEW.name, NEW.instance, 'open', NEW.ended_at_ms,
        NEW.ended_at_ms);
END;

-- A name is free again when its clean-up is confirmed.
CREATE TRIGGER sandboxes_wait_for_their_name BEFORE INSERT ON sandboxes
WHEN NEW.slot IS NOT NULL
    AND EXISTS (SELECT 1 FROM orphans WHERE state = 'open' AND name = NEW.name)
BEGIN
    SELECT RAISE(ABORT, 'constraint failed: sandboxes.name');
END;
-- What lies on a node without a slot of its own counts too.
CREATE TRIGGER sandboxes_leave_room_for_orphans BEFORE INSERT ON sandboxes
WHEN NEW.slot IS NOT NULL
    AND (SELECT count(*) FROM sandboxes WHERE slot IS NOT NULL)
        + (SELECT count(*) FROM orphans WHERE state = 'open' AND cause IN ('returned', 'unknown'))
        >= 3
BEGIN
    SELECT RAISE(ABORT, 'constraint failed: sandboxes.slot');
END;

-- Switches of the global image. What was approved is what happens: the target and the sandboxes
-- to be destroyed never change.
CREATE TABLE image_switches (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    ticket_id TEXT NOT NULL,
    operation_id TEXT NOT NULL,
    reference TEXT NOT NULL,
    digest TEXT NOT NULL CHECK (digest GLOB 'sha256:*'),
    introduction TEXT NOT NULL,
    from_digest TEXT NOT NULL,
    from_revision INTEGER NOT NULL,
    -- [{"sandbox": row, "name": …, "instance": …, "node": …}, …]
    doomed TEXT NOT NULL CHECK (json_valid(doomed)),
    state TEXT NOT NULL CHECK (state IN ('switching', 'blocked', 'activated')),
    reason TEXT NOT NULL DEFAULT '',
    started_at_ms INTEGER NOT NULL,
    changed_at_ms INTEGER NOT NULL
) STRICT;
-- One at a time, a blocked one included.
CREATE UNIQUE INDEX image_switches_one ON image_switches ((1)) WHERE state <> 'activated';
-- A ticket pays for one switch.
CREATE UNIQUE INDEX image_switches_once ON image_switches (ticket_id);

CREATE TRIGGER image_switches_are_bound BEFORE UPDATE OF id, ticket_id, operation_id, reference,
    digest, introduction, from_digest, from_revision, doomed ON image_switches
BEGIN
    SELECT RAISE(ABORT, 'what was approved of a switch stays');
END;
-- switching ⇄ blocked, switching → activated; then no more.
CREATE TRIGGER image_switches_move BEFORE UPDATE OF state ON image_switches
WHEN NEW.state IS NOT OLD.state AND NOT (
    (OLD.state = 'switching' AND NEW.state IN ('blocked', 'activated'))
    OR (OLD.state = 'blocked' AND NEW.state = 'switching'))
BEGIN
    SELECT RAISE(ABORT, 'the switch has moved on');
END;

-- Nothing is created while the image is switched.
CREATE TRIGGER sandboxes_wait_for_the_switch BEFORE INSERT ON sandboxes
WHEN NEW.slot IS NOT NULL AND EXISTS (SELECT 1 FROM image_switches WHERE state <> 'activated')
BEGIN
    SELECT RAISE(ABORT, 'the image is being switched');
END;
-- Whatever is created is made of the one image, as it is at that moment.
CREATE TRIGGER sandboxes_of_the_one_image BEFORE INSERT ON sandboxes
WHEN NEW.slot IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM sandbox_image_config
    WHERE digest = NEW.image_digest AND revision = NEW.image_revision)
BEGIN
    SELECT RAISE(ABORT, 'not the global image');
END;
-- Old and new images never stand side by side.
CREATE TRIGGER sandbox_image_config_changes_alone BEFORE UPDATE OF digest ON sandbox_image_config
WHEN NEW.digest IS NOT OLD.digest AND EXISTS (SELECT 1 FROM sandboxes WHERE slot IS NOT NULL)
BEGIN
    SELECT RAISE(ABORT, 'sandboxes of the old image exist');
END;
CREATE TRIGGER sandbox_image_config_moves_forward BEFORE UPDATE ON sandbox_image_config
WHEN NEW.revision <= OLD.revision
BEGIN
    SELECT RAISE(ABORT, 'the revision of the image only grows');
END;

-- What is thought of each node, with the evidence for it (ids, times and codes, never content).
CREATE TABLE nodes (
    name TEXT PRIMARY KEY,
    state TEXT NOT NULL
        CHECK (state IN ('alive', 'observed', 'silent', 'unreachable', 'absent', 'written_off')),
    since_ms INTEGER NOT NULL,
    identity TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(identity)),
    evidence TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(evidence)),
    -- The images that it held at the last good look: [{"digest": …, "reference": …}, …]
    images TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(images)),
    seen_at_ms INTEGER
) STRICT, WITHOUT ROWID;

-- Each look at a node; equal ones in a row are one row with their count.
CREATE TABLE node_observations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    node TEXT NOT NULL,
    finding TEXT NOT NULL,
    detail TEXT NOT NULL CHECK (json_valid(detail)),
    looks INTEGER NOT NULL DEFAULT 1,
    first_at_ms INTEGER NOT NULL,
    last_at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX node_observations_by_node ON node_observations (node, id);
CREATE INDEX node_observations_by_age ON node_observations (last_at_ms);

-- What a member's command led to is found again by its message, so that it is not done twice.
CREATE INDEX operations_by_command ON operations (origin_id) WHERE origin_kind = 'command';
CREATE INDEX approvals_by_command ON approvals (origin_id) WHERE origin_kind = 'command';
