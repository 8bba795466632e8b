//! Reads and writes files with passwords, keys and tokens, and checks their permissions.
//!
//! One rule applies to all of them: neither the group nor others may have access. If root owns the file and another user reads it, the group
//! may have read permission, as systemd and container runtimes provide secrets to services.
#![forbid(unsafe_code)]

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The most bytes of a file that are read: a device has no end.
const MOST_BYTES: u64 = 1 << 20;

/// The reason why a file is not read. It is displayed as one line, which names the file.
#[derive(Debug)]
pub struct SecretError {
    path: PathBuf,
    reason: SecretErrorKind,
}

#[derive(Debug)]
enum SecretErrorKind {
    Io(io::Error),
    /// Users other than the owner have access; the mode of the file.
    Mode(u32),
    TooLarge,
    NoText,
}

impl SecretError {
    /// Returns true if there is no such file.
    pub fn is_missing(&self) -> bool {
        matches!(&self.reason, SecretErrorKind::Io(error) if error.kind() == ErrorKind::NotFound)
    }
}

impl fmt::Display for SecretError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.reason {
            SecretErrorKind::Io(error) => write!(f, "{path}: {error}"),
            SecretErrorKind::Mode(mode) => {
                write!(f, "{path}: others than its owner may use it (mode {mode:04o}): chmod 600 '{path}'")
            }
            SecretErrorKind::TooLarge => {
                write!(f, "{path}: it is larger than 1 MiB, as no key, password or file of tokens is")
            }
            SecretErrorKind::NoText => write!(f, "{path}: it is not UTF-8"),
        }
    }
}

impl std::error::Error for SecretError {}

/// Reads a file, unless others may use it.
///
/// # Errors
/// If they may, or it cannot be read, or is larger than any such file.
pub fn read(path: &Path) -> Result<Vec<u8>, SecretError> {
    let wrong = |reason| SecretError { path: path.to_owned(), reason };
    let told = |error| wrong(SecretErrorKind::Io(error));
    let mut file = File::open(path).map_err(told)?;
    // Of the file that was opened: another may have taken its name.
    let metadata = file.metadata().map_err(told)?;
    let mode = metadata.permissions().mode() & 0o777;
    if metadata.is_file() && mode & others(metadata.uid(), rustix::process::geteuid().as_raw()) != 0 {
        return Err(wrong(SecretErrorKind::Mode(mode)));
    }
    let mut bytes = Vec::new();
    Read::by_ref(&mut file).take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(told)?;
    if bytes.len() as u64 > MOST_BYTES { Err(wrong(SecretErrorKind::TooLarge)) } else { Ok(bytes) }
}

/// The permission bits that must not be set.
fn others(owner: u32, reader: u32) -> u32 {
    if owner == 0 && reader != 0 { 0o037 } else { 0o077 }
}

/// Reads a file as a text, unless others may use it.
///
/// # Errors
/// Returns the errors of [`read`], and one if the file is no text.
pub fn read_text(path: &Path) -> Result<String, SecretError> {
    let no_text = |_| SecretError { path: path.to_owned(), reason: SecretErrorKind::NoText };
    String::from_utf8(read(path)?).map_err(no_text)
}

/// Reads the first line of a file, which is a password, unless others may use the file.
///
/// # Errors
/// Returns the errors of [`read_text`].
pub fn password(path: &Path) -> Result<String, SecretError> {
    Ok(read_text(path)?.lines().next().unwrap_or_default().to_owned())
}

/// Writes a new file that its owner alone may read.
///
/// # Errors
/// If it is there already, or cannot be written.
pub fn create(path: &Path, text: &str) -> io::Result<()> {
    create_with(path, text, 0o600)
}

/// Writes a new file with these rights.
///
/// # Errors
/// If it is there already, or cannot be written.
pub fn create_with(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    // Half a file would be taken for a whole one.
    written.inspect_err(|_| drop(fs::remove_file(path)))
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

    #[test]
    fn what_is_wrong_with_a_file_is_one_line() {
        let path = std::env::temp_dir().join(format!("edison-secret-{}", std::process::id()));
        assert!(read(&path).expect_err("no file").is_missing());
        create(&path, "first\nsecond\n").expect("a file");
        assert_eq!(create(&path, "x").expect_err("it is there").kind(), ErrorKind::AlreadyExists);
        assert_eq!(password(&path).expect("a password"), "first");
        fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).expect("own file");
        let error = read(&path).expect_err("others may use it");
        assert!(!error.is_missing() && error.to_string().contains("(mode 0640): chmod 600 '"), "{error}");
        fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).expect("own file");
        fs::write(&path, [0xff]).expect("own file");
        assert_eq!(read(&path).expect("bytes"), [0xff]);
        assert!(read_text(&path).expect_err("no text").to_string().ends_with("it is not UTF-8"));
        fs::write(&path, vec![b'x'; MOST_BYTES as usize + 1]).expect("own file");
        assert!(read(&path).expect_err("too large").to_string().contains("larger than 1 MiB"));
        fs::remove_file(&path).expect("own file");
    }
}
