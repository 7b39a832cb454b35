-- What searches compare: texts as `plain` makes them, without case and accents. They are kept, since what an index is told
-- to forget has to be what it was given.
CREATE TABLE message_texts (
    number INTEGER PRIMARY KEY REFERENCES messages (number) ON DELETE CASCADE,
    text   TEXT NOT NULL
);

DROP TRIGGER messages_index_insert;
DROP TRIGGER messages_index_delete;
DROP TRIGGER messages_index_update;
DROP TABLE messages_index;

CREATE VIRTUAL TABLE messages_index USING fts5 (
    text, content = 'message_texts', content_rowid = 'number', tokenize = 'trigram'
);

CREATE TRIGGER message_texts_insert AFTER INSERT ON message_texts BEGIN
    INSERT INTO messages_index (rowid, text) VALUES (new.number, new.text);
END;

CREATE TRIGGER message_texts_delete AFTER DELETE ON message_texts BEGIN
    INSERT INTO messages_index (messages_index, rowid, text) VALUES ('delete', old.number, old.text);
END;

CREATE TRIGGER message_texts_update AFTER UPDATE ON message_texts BEGIN
    INSERT INTO messages_index (messages_index, rowid, text) VALUES ('delete', old.number, old.text);
    INSERT INTO messages_index (rowid, text) VALUES (new.number, new.text);
END;

CREATE TRIGGER messages_text_insert AFTER INSERT ON messages BEGIN
    INSERT INTO message_texts VALUES (new.number, plain(new.content));
END;

CREATE TRIGGER messages_text_update AFTER UPDATE OF content ON messages BEGIN
    UPDATE message_texts SET text = plain(new.content) WHERE number = new.number;
END;

INSERT INTO message_texts SELECT number, plain(content) FROM messages;

-- Of a document the newest version.
CREATE TABLE document_texts (
    number      INTEGER PRIMARY KEY,
    document_id TEXT NOT NULL UNIQUE REFERENCES documents (id) ON DELETE CASCADE,
    title       TEXT NOT NULL,
    text        TEXT NOT NULL
);

CREATE VIRTUAL TABLE documents_index USING fts5 (
    title, text, content = 'document_texts', content_rowid = 'number', tokenize = 'trigram'
);

CREATE TRIGGER document_texts_insert AFTER INSERT ON document_texts BEGIN
    INSERT INTO documents_index (rowid, title, text) VALUES (new.number, new.title, new.text);
END;

CREATE TRIGGER document_texts_delete AFTER DELETE ON document_texts BEGIN
    INSERT INTO documents_index (documents_index, rowid, title, text)
        VALUES ('delete', old.number, old.title, old.text);
END;

CREATE TRIGGER document_texts_update AFTER UPDATE ON document_texts BEGIN
    INSERT INTO documents_index (documents_index, rowid, title, text)
        VALUES ('delete', old.number, old.title, old.text);
    INSERT INTO documents_index (rowid, title, text) VALUES (new.number, new.title, new.text);
END;

CREATE TRIGGER documents_text_insert AFTER INSERT ON document_versions BEGIN
    INSERT INTO document_texts (document_id, title, text)
        SELECT id, plain(title), plain(new.content) FROM documents WHERE id = new.document_id
        ON CONFLICT (document_id) DO UPDATE SET text = excluded.text;
END;

CREATE TRIGGER documents_title_update AFTER UPDATE OF title ON documents BEGIN
    UPDATE document_texts SET title = plain(new.title) WHERE document_id = new.id;
END;

INSERT INTO document_texts (document_id, title, text)
    SELECT d.id, plain(d.title), plain(v.content) FROM documents d JOIN document_versions v ON v.document_id = d.id
    WHERE v.version = (SELECT max(version) FROM document_versions WHERE document_id = d.id);
