//! Files with passwords and keys: nobody but their owner reads them.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// The most bytes of a file that are read: a device has no end.
const MOST_BYTES: u64 = 1 << 20;

/// Reads a file, unless others may read it too.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, String> {
    let told = |error: io::Error| format!("{}: {error}", path.display());
    let mut file = File::open(path).map_err(told)?;
    // Of the file that was opened: another may have taken its name.
    let metadata = file.metadata().map_err(told)?;
    let mode = metadata.permissions().mode() & 0o777;
    if metadata.is_file() && mode & others(metadata.uid(), user()) != 0 {
        return Err(format!(
            "{0}: others than its owner may use it (mode {mode:04o}): chmod 600 '{0}'",
            path.display()
        ));
    }
    let mut bytes = Vec::new();
    Read::by_ref(&mut file).take(MOST_BYTES).read_to_end(&mut bytes).map_err(told)?;
    Ok(bytes)
}

/// The rights that nobody may have. What root gives to a service is read by its group: systemd and containers do so.
fn others(owner: u32, reader: u32) -> u32 {
    if owner == 0 && reader != 0 { 0o037 } else { 0o077 }
}

/// Who reads.
fn user() -> u32 {
    // SAFETY: it has no conditions, and cannot fail.
    unsafe { libc::geteuid() }
}

/// The first line of such a file, which is a password.
pub(crate) fn password(path: &Path) -> Result<String, String> {
    let text = String::from_utf8(read(path)?).map_err(|_| format!("{}: it is not UTF-8", path.display()))?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

/// Writes a new file that its owner alone may read.
pub(crate) fn create(path: &Path, text: &str) -> io::Result<()> {
    create_with(path, text, 0o600)
}

/// Writes a new file with these rights.
pub(crate) fn create_with(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    // Half a file would be taken for a whole one.
    written.inspect_err(|_| drop(std::fs::remove_file(path)))
}

/// Whether a file can have this name and an ending.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_reads_what_root_gives_it() {
        let is_refused = |mode: u32, owner, reader| mode & others(owner, reader) != 0;
        for (mode, own, of_root) in [
            (0o600, false, false),
            (0o400, false, false),
            (0o440, true, false),
            (0o660, true, true),
            (0o604, true, true),
        ] {
            assert_eq!((is_refused(mode, 7, 7), is_refused(mode, 0, 7)), (own, of_root), "{mode:o}");
            assert_eq!(is_refused(mode, 0, 0), own, "{mode:o}");
        }
    }
}
