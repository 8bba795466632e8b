//! Names of files that are made for machines and users.

/// Checks that a file can have this name and an ending.
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    let is_good = !name.is_empty()
        && !name.starts_with('.')
        && !name.contains('/')
        && !name.chars().any(char::is_control);
    if is_good {
        return Ok(());
    }
    Err(format!(
        "{name:?}: a file gets this name, which has no '/', no control characters and no '.' at its begin"
    ))
}
