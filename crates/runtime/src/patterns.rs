//! Patterns of file names, where no shell expands them.

use crate::exit::Failure;
use std::path::{Path, PathBuf};

/// A file of this name, or those that the pattern names, in the order of their names.
pub fn expanded(pattern: &str) -> Result<Vec<PathBuf>, Failure> {
    if Path::new(pattern).exists() || !pattern.contains(['*', '?', '[']) {
        return Ok(vec![PathBuf::from(pattern)]);
    }
    let found = glob::glob(pattern).map_err(|error| Failure::usage(format!("{pattern}: {error}")))?;
    let paths: Vec<_> = found.filter_map(Result::ok).filter(|path| path.is_file()).collect();
    if paths.is_empty() {
        return Err(Failure::usage(format!("{pattern}: no file has such a name")));
    }
    Ok(paths)
}
