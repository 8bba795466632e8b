//! The memory of processes, as the system tells it.

/// A size that `/proc/PROCESS/status` tells under this name (`VmRSS`, `RssAnon`), bytes. `process`: its number, or `self`. Nothing once it has
/// ended.
pub(crate) fn bytes(process: &str, name: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let size = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(size.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_memory() {
        assert!(bytes("self", "VmRSS").expect("it runs") > 100_000);
        assert_eq!(bytes("self", "VmR"), None);
        assert_eq!(bytes("0", "VmRSS"), None);
    }
}
