-- What was remembered after text from outside had entered the chat may be that text.
ALTER TABLE memories ADD COLUMN outside INTEGER NOT NULL DEFAULT 0;
