//! Properties of this machine: its memory and how much of it a run takes, its name, its clock, an unpredictable number.

use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

/// Half of the machine's memory, or of the control group's if that is less. Bytes.
pub fn half_of_memory() -> u64 {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let kib = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        kib.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
    });
    machine.into_iter().chain(control_group_limits()).min().unwrap_or(1 << 30) / 2
}

/// `memory.max` of this process' control group and of those above it.
fn control_group_limits() -> Vec<u64> {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let path = own.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/");
    std::path::Path::new(path)
        .ancestors()
        .filter_map(|group| {
            let file =
                format!("/sys/fs/cgroup{}/memory.max", group.display().to_string().trim_end_matches('/'));
            fs::read_to_string(file).ok()?.trim().parse().ok()
        })
        .collect()
}

/// The host's name.
pub fn host_name() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname")
        .map_or_else(|_| "localhost".to_owned(), |name| name.trim().to_owned())
}

/// A random number from the operating system, by way of the standard library's own seeds.
pub fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Returns the time, nanoseconds since the epoch.
pub fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}
