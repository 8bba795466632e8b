//! The huge pages that the kernel has reserved.

use std::fs;
use std::path::Path;

const DIRECTORY: &str = "/sys/kernel/mm/hugepages";

/// Huge pages of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hugepages {
    /// Size of one page.
    pub page_bytes: u64,
    /// Pages reserved.
    pub total: u64,
    /// Free pages.
    pub free: u64,
}

impl Hugepages {
    /// All sizes that this kernel has, the smallest first; empty without support.
    pub fn detect() -> Vec<Self> {
        Self::under(Path::new(DIRECTORY))
    }

    fn under(directory: &Path) -> Vec<Self> {
        let mut sizes: Vec<Self> = fs::read_dir(directory)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name();
                let kib = name.to_str()?.strip_prefix("hugepages-")?.strip_suffix("kB")?;
                let number = |file| fs::read_to_string(entry.path().join(file)).ok()?.trim().parse().ok();
                Some(Self {
                    page_bytes: kib.parse::<u64>().ok()?.checked_mul(1024)?,
                    total: number("nr_hugepages")?,
                    free: number("free_hugepages")?,
                })
            })
            .collect();
        sizes.sort_unstable();
        sizes
    }

    /// Free bytes, over all sizes.
    pub(super) fn free_bytes(sizes: &[Self]) -> u64 {
        sizes.iter().map(|size| size.free.saturating_mul(size.page_bytes)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_sorted() {
        let root = std::env::temp_dir().join(format!("edison-hugepages-{}", std::process::id()));
        for (name, total, free) in [("hugepages-1048576kB", "2", "1"), ("hugepages-2048kB", "64", "60\n")] {
            let size = root.join(name);
            fs::create_dir_all(&size).unwrap();
            fs::write(size.join("nr_hugepages"), total).unwrap();
            fs::write(size.join("free_hugepages"), free).unwrap();
        }
        fs::create_dir_all(root.join("other")).unwrap();
        let sizes = Hugepages::under(&root);
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(
            sizes,
            [
                Hugepages { page_bytes: 2 << 20, total: 64, free: 60 },
                Hugepages { page_bytes: 1 << 30, total: 2, free: 1 },
            ]
        );
        assert_eq!(Hugepages::free_bytes(&sizes), (120 << 20) + (1 << 30));
    }

    #[test]
    fn a_kernel_without_them_has_none() {
        assert_eq!(Hugepages::under(Path::new("/nonexistent")), []);
    }
}
