-- Sessions of a named agent belong to other programs: the page does not list them, and they go out of use.
ALTER TABLE sessions ADD COLUMN agent TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN used_at REAL NOT NULL DEFAULT 0;

CREATE INDEX sessions_of_agents ON sessions (agent, used_at) WHERE agent != '';
