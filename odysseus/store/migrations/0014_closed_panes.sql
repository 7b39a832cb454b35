-- A pane that was closed is not asked any more, and its answers are not shown, until it is brought back.
ALTER TABLE compare_panes ADD COLUMN closed INTEGER NOT NULL DEFAULT 0;
