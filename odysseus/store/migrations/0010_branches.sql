-- A session's messages are a tree: `parent_id` is the message before, NULL for a first one. The messages with `active`
-- are one path from a first message down: what is shown, and what a prompt is made of.
ALTER TABLE messages ADD COLUMN parent_id TEXT;
ALTER TABLE messages ADD COLUMN active INTEGER NOT NULL DEFAULT 1;

UPDATE messages SET parent_id = (
    SELECT before.id FROM messages AS before
    WHERE before.session_id = messages.session_id AND before.position < messages.position
    ORDER BY before.position DESC LIMIT 1
);

CREATE INDEX messages_shown ON messages (session_id, active, position);
-- These hold all that a walk up or down needs: the rows themselves may be long.
CREATE INDEX messages_above ON messages (session_id, id, parent_id, position);
CREATE INDEX messages_beneath ON messages (session_id, parent_id, id);

-- A summary stands for the path down to its message, so a new message changes none. A moved one may.
DROP TRIGGER summaries_after_insert;

CREATE TRIGGER summaries_after_move AFTER UPDATE OF parent_id ON messages BEGIN
    DELETE FROM summaries WHERE session_id = new.session_id AND upto >= new.position;
END;

-- The message that a run's answer stands behind, and for a question that is answered again what was shown before.
ALTER TABLE runs ADD COLUMN parent_id TEXT;
ALTER TABLE runs ADD COLUMN left_id TEXT;
UPDATE runs SET parent_id = (
    SELECT last.id FROM messages AS question JOIN messages AS last ON last.session_id = question.session_id
        AND last.position >= question.position AND last.position / 65536 = question.position / 65536
    WHERE question.id = runs.user_message_id ORDER BY last.position DESC LIMIT 1
) WHERE status = 'running';
