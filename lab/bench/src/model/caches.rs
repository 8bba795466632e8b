//! Sizes of the processor's caches, as the kernel reports them.

use std::fs;
use std::path::Path;

/// The folder where Linux describes the caches of the first core.
pub(super) const SYSFS: &str = "/sys/devices/system/cpu/cpu0/cache";

/// Bytes of a cache line.
pub(super) const LINE: usize = 64;

/// Bytes that each level has for data, as one core sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Caches {
    pub(super) l1d: u64,
    pub(super) l2: u64,
    pub(super) l3: u64,
}

impl Caches {
    /// Reads a folder with one `index…` for each cache.
    pub(super) fn read(folder: &Path) -> Result<Self, String> {
        let level = |level: u32| {
            size(folder, level).ok_or_else(|| {
                format!(
                    "no size of the L{level} cache in {}: the model needs L1, L2 and L3 (a container or virtual \
                     machine may hide them; run it on the host)",
                    folder.display()
                )
            })
        };
        let caches = Self { l1d: level(1)?, l2: level(2)?, l3: level(3)? };
        if caches.l1d >= caches.l2 || caches.l2 >= caches.l3 {
            return Err(format!(
                "{} has an L1 of {} bytes, an L2 of {} and an L3 of {}: the model needs each larger than the one before",
                folder.display(),
                caches.l1d,
                caches.l2,
                caches.l3
            ));
        }
        Ok(caches)
    }
}

/// The size of the data cache of this level.
fn size(folder: &Path, level: u32) -> Option<u64> {
    fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).find_map(|cache| {
        let read = |name: &str| fs::read_to_string(cache.join(name)).ok();
        let is_wanted = read("level")?.trim().parse() == Ok(level) && read("type")?.trim() != "Instruction";
        if is_wanted { bytes(&read("size")?) } else { None }
    })
}

/// `32K`, `2M` or a number of bytes; a virtual machine that knows none reports 0.
fn bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let (number, unit) = match text.strip_suffix(['K', 'k']) {
        Some(number) => (number, 1 << 10),
        None => text.strip_suffix(['M', 'm']).map_or((text, 1), |number| (number, 1 << 20)),
    };
    number.parse::<u64>().ok()?.checked_mul(unit).filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder as the kernel has it: level, type and size of each cache.
    fn folder(caches: &[(&str, &str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("uevent"), "").expect("a file");
        for (number, (level, kind, size)) in caches.iter().enumerate() {
            let cache = folder.path().join(format!("index{number}"));
            fs::create_dir(&cache).expect("a folder");
            for (name, text) in [("level", level), ("type", kind), ("size", size)] {
                fs::write(cache.join(name), format!("{text}\n")).expect("a file");
            }
        }
        folder
    }

    #[test]
    fn each_level_is_found_by_what_it_holds() {
        let folder = folder(&[
            ("1", "Instruction", "64K"),
            ("1", "Data", "48K"),
            ("2", "Unified", "2M"),
            ("3", "Unified", "36608K"),
        ]);
        let caches = Caches { l1d: 48 << 10, l2: 2 << 20, l3: 36608 << 10 };
        assert_eq!(Caches::read(folder.path()), Ok(caches));
    }

    #[test]
    fn what_is_missing_is_named() {
        let error = |caches: &[_]| Caches::read(folder(caches).path()).expect_err("no model");
        let (l1, l2) = (("1", "Data", "32K"), ("2", "Unified", "1024K"));
        assert!(error(&[]).starts_with("no size of the L1 cache in "));
        assert!(error(&[l1, l2]).starts_with("no size of the L3 cache in "));
        assert!(error(&[l1, l2, ("3", "Unified", "0K")]).starts_with("no size of the L3 cache in "));
        assert!(error(&[l1, l2, ("3", "Unified", "1M")]).contains("each larger than the one before"));
        assert!(Caches::read(Path::new("/no/such/folder")).is_err());
    }

    #[test]
    fn sizes() {
        for (text, size) in [("32K\n", 32 << 10), ("36608K", 36608 << 10), ("2M", 2 << 20), ("512", 512)] {
            assert_eq!(bytes(text), Some(size), "{text:?}");
        }
        for text in ["", "K", "0K", "-1K", "many", "99999999999999999999K", "18446744073709551615K"] {
            assert_eq!(bytes(text), None, "{text:?}");
        }
    }
}
