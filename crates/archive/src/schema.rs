//! The tables of an archive.

/// The start and the end of the window of a whole run, after all times.
pub(crate) const WHOLE_RUN: &str = "run";

/// Marks the file as an archive of Edison: `EdAr`.
pub(crate) const APPLICATION: u32 = 0x4564_4172;
/// Version of the tables.
pub(crate) const VERSION: u32 = 4;

/// The statements that make the tables of each version out of those of the one before, from an empty file on. What is released stays as it is.
pub(crate) const STEPS: [&str; VERSION as usize] = [FIRST, CAPTURES, ACKNOWLEDGEMENTS, SILENCES];

/// The tables of the first version. Times are text as in JSON: its order is that of time, and all of them fit. `window_start` and `window_end`
/// of a whole run are `run`, which is after all times. Identifiers of rows tell what was stored first.
const FIRST: &str = "
CREATE TABLE answers (
    id INTEGER PRIMARY KEY,
    query TEXT NOT NULL,
    node TEXT,
    window_start TEXT NOT NULL,
    window_end TEXT NOT NULL,
    revision INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX answers_key ON answers (query, node, window_end, window_start, revision);
CREATE INDEX answers_query ON answers (query, window_end);
CREATE INDEX answers_node ON answers (node, window_end);
CREATE INDEX answers_end ON answers (window_end);
CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    event TEXT NOT NULL UNIQUE,
    query TEXT NOT NULL,
    node TEXT,
    kind TEXT NOT NULL,
    at TEXT NOT NULL,
    story TEXT,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX events_query ON events (query, at);
CREATE INDEX events_node ON events (node, at);
CREATE INDEX events_kind ON events (kind, at);
CREATE INDEX events_at ON events (at);
CREATE INDEX events_story ON events (story) WHERE story IS NOT NULL;
CREATE TABLE stories (
    id INTEGER PRIMARY KEY,
    story TEXT NOT NULL UNIQUE,
    at TEXT,
    query TEXT,
    node TEXT,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX stories_at ON stories (at);
CREATE TABLE states (
    name TEXT PRIMARY KEY,
    text TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE marks (
    id INTEGER PRIMARY KEY,
    node TEXT NOT NULL,
    boot TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    UNIQUE (node, boot)
) STRICT;
";

/// The tables of the second version, with those of captures. `bound` has the values that a firing pinned, as JSON; it is empty where there are
/// none. `content` is NULL if the file of a capture is not here, and `is_dropped` says that it was.
const CAPTURES: &str = "
ALTER TABLE answers ADD COLUMN bound TEXT NOT NULL DEFAULT '';
DROP INDEX answers_key;
CREATE INDEX answers_key ON answers (query, node, window_end, window_start, revision, bound);
CREATE TABLE captures (
    id INTEGER PRIMARY KEY,
    event TEXT NOT NULL,
    node TEXT NOT NULL,
    body TEXT NOT NULL,
    content BLOB,
    is_dropped INTEGER NOT NULL,
    UNIQUE (event, node)
) STRICT;
";

/// The acknowledgement of a story, as JSON; NULL if there is none. It is deleted with the story.
const ACKNOWLEDGEMENTS: &str = "ALTER TABLE stories ADD COLUMN acknowledgement TEXT;";

/// The silences of stories, as JSON. They are kept longer than the stories.
const SILENCES: &str =
    "CREATE TABLE silences (story TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID;";
