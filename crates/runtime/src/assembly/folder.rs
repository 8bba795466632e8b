//! Folders that outputs are made in.

use std::fs;
use std::io;
use std::path::Path;

/// Refuses a folder that could not be made. What was not there is not there afterwards.
pub(super) fn check(folder: &Path) -> io::Result<()> {
    let missing = folder.ancestors().take_while(|path| !path.as_os_str().is_empty() && !path.exists());
    let missing: Vec<&Path> = missing.collect();
    let made = fs::create_dir_all(folder);
    for path in missing {
        // Another process may have put something there since.
        let _ = fs::remove_dir(path);
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_of_a_folder_that_could_be_made() {
        let base = std::env::temp_dir().join(format!("edison-folder-{}", std::process::id()));
        assert!(check(&base.join("a/b")).is_ok() && !base.exists());
        fs::create_dir(&base).expect("a folder");
        assert!(check(&base).is_ok() && check(&base.join("a/b")).is_ok() && base.is_dir());
        assert!(!base.join("a").exists());
        let file = base.join("file");
        fs::write(&file, "").expect("written");
        assert!(check(&file).is_err() && check(&file.join("a")).is_err() && file.is_file());
        fs::remove_dir_all(&base).expect("it is there");
    }
}
