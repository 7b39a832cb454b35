-- When a request last named the file, so that one about to be sent is not swept away.
ALTER TABLE uploads ADD COLUMN used_at REAL NOT NULL DEFAULT 0;
UPDATE uploads SET used_at = created_at;
CREATE INDEX uploads_by_content ON uploads (sha256);

-- What was read in a file, once for its bytes and for the type that its name says.
CREATE TABLE file_texts (
    sha256   TEXT NOT NULL,
    called   TEXT NOT NULL,
    kind     TEXT NOT NULL,
    text     TEXT NOT NULL,
    note     TEXT NOT NULL,
    mime     TEXT NOT NULL,
    width    INTEGER,
    height   INTEGER,
    pages    INTEGER,
    mismatch INTEGER NOT NULL,
    read_at  REAL NOT NULL,
    PRIMARY KEY (sha256, called)
);

-- Which kept files a message names in its metadata: those sent with it, and the pictures made for it.
CREATE TABLE message_uploads (
    message_id TEXT NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
    upload_id  TEXT NOT NULL REFERENCES uploads (id) ON DELETE CASCADE,
    PRIMARY KEY (message_id, upload_id)
) WITHOUT ROWID;

CREATE INDEX message_uploads_of_upload ON message_uploads (upload_id);

CREATE TRIGGER message_uploads_insert AFTER INSERT ON messages BEGIN
    INSERT OR IGNORE INTO message_uploads
        SELECT new.id, uploads.id FROM json_each(new.metadata, '$.attachments') AS named
        JOIN uploads ON uploads.id = json_extract(new.metadata, named.fullkey || '.id');
    INSERT OR IGNORE INTO message_uploads
        SELECT new.id, uploads.id FROM json_each(new.metadata, '$.images') AS named
        JOIN uploads ON uploads.id = json_extract(new.metadata, named.fullkey || '.image_id');
END;

CREATE TRIGGER message_uploads_update AFTER UPDATE OF metadata ON messages BEGIN
    DELETE FROM message_uploads WHERE message_id = new.id;
    INSERT OR IGNORE INTO message_uploads
        SELECT new.id, uploads.id FROM json_each(new.metadata, '$.attachments') AS named
        JOIN uploads ON uploads.id = json_extract(new.metadata, named.fullkey || '.id');
    INSERT OR IGNORE INTO message_uploads
        SELECT new.id, uploads.id FROM json_each(new.metadata, '$.images') AS named
        JOIN uploads ON uploads.id = json_extract(new.metadata, named.fullkey || '.image_id');
END;

-- The triggers look at the messages that are there.
UPDATE messages SET metadata = metadata WHERE metadata LIKE '%"images":%';

-- A proposed memory is not used until the user keeps it.
ALTER TABLE memories ADD COLUMN state TEXT NOT NULL DEFAULT 'kept' CHECK (state IN ('kept', 'proposed'));
