-- Older turns in fewer words, for the model. `upto` is the position of the last message that the text stands for; each
-- row builds on those before it.
CREATE TABLE summaries (
    number     INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    upto       INTEGER NOT NULL,
    messages   INTEGER NOT NULL,
    text       TEXT NOT NULL,
    outside    INTEGER NOT NULL,
    created_at REAL NOT NULL,
    UNIQUE (session_id, upto)
);

-- A summary of what is no more said, or said otherwise, is gone with it.
CREATE TRIGGER summaries_after_insert AFTER INSERT ON messages BEGIN
    DELETE FROM summaries WHERE session_id = new.session_id AND upto >= new.position;
END;

CREATE TRIGGER summaries_after_delete AFTER DELETE ON messages BEGIN
    DELETE FROM summaries WHERE session_id = old.session_id AND upto >= old.position;
END;

CREATE TRIGGER summaries_after_update AFTER UPDATE OF content ON messages BEGIN
    DELETE FROM summaries WHERE session_id = old.session_id AND upto >= old.position;
END;
