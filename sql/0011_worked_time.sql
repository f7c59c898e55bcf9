-- Time at work by a clock that never jumps; the wall-time budget counts this. `active_ms` is wall time.
ALTER TABLE tasks ADD COLUMN worked_ms INTEGER NOT NULL DEFAULT 0 CHECK (worked_ms >= 0);
