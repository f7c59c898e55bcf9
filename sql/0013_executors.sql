-- Who carries an operation out, and is asked for it after a crash: a kind of work of the gateway's own
-- ('read', 'change', 'remote', 'remote_read') or the name of an executor. Older rows without a
-- sandbox were changes of our own tables.
ALTER TABLE operations ADD COLUMN executor TEXT NOT NULL DEFAULT 'change' CHECK (executor <> '');
UPDATE operations SET executor = 'sandbox'
WHERE id IN (SELECT operation_id FROM sandbox_operations);

CREATE TRIGGER operations_keep_their_executor BEFORE UPDATE OF executor ON operations
BEGIN
    SELECT RAISE(ABORT, 'the executor of an operation stays');
END;
