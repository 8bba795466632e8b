//! Columns as SQLite has them.

use rusqlite::types::ValueRef;

/// Returns the bytes of a text: a damaged text need not be UTF-8.
pub(crate) fn text(value: ValueRef<'_>) -> &[u8] {
    match value {
        ValueRef::Text(text) | ValueRef::Blob(text) => text,
        _ => &[],
    }
}
