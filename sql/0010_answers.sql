-- Perlica's own answers can be quoted into a task's window, until somebody recalls them.
ALTER TABLE outbox_messages ADD COLUMN recalled_at_ms INTEGER;
