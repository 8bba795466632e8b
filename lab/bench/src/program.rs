//! The programs that benches start.

use std::path::{Path, PathBuf};

/// Returns the path of `edison`: the one that the variable EDISON names, or the one in the folder of this program.
///
/// # Errors
/// One line: there is no such program.
pub(crate) fn edison() -> Result<PathBuf, String> {
    let named = std::env::var_os("EDISON").filter(|name| !name.is_empty()).map(PathBuf::from);
    let neighbour = || itself().map(|program| program.with_file_name("edison"));
    let path = named.map_or_else(neighbour, Ok)?;
    if path.is_file() { Ok(path) } else { Err(missing(&path)) }
}

/// Returns the path of this program: the one that the variable EDISON_LAB names (of `edison-lab pack`, which starts it by a loader), or the
/// one that the system says.
///
/// # Errors
/// One line: the system does not say.
pub(crate) fn itself() -> Result<PathBuf, String> {
    if let Some(named) = std::env::var_os("EDISON_LAB").filter(|name| !name.is_empty()) {
        return Ok(PathBuf::from(named));
    }
    std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))
}

fn missing(path: &Path) -> String {
    format!(
        "there is no edison at '{}': build it with `cargo build --release`, or let EDISON name it",
        path.display()
    )
}
