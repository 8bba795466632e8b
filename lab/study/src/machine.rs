//! The machine that is measured on.

use serde::{Deserialize, Serialize};
use std::fs;

/// The properties of a machine that a page names and that points need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineProfile {
    /// The processor's name.
    pub cpu: String,
    /// Processors that this process may use.
    pub cores: usize,
    /// Sockets that these are in.
    pub sockets: usize,
    /// Bytes of the first core's caches: data cache of level 1, levels 2 and 3; 0 if there is none or it is unknown.
    pub caches: [u64; 3],
    /// Bytes of memory.
    pub memory: u64,
    /// Name and release of the kernel.
    pub kernel: String,
    /// Huge pages of 2 MiB that are reserved, and how others are given (`always`, `madvise`, `never`).
    pub huge_pages: String,
}

impl MachineProfile {
    /// Returns the properties of this machine.
    pub fn here() -> Self {
        let cores = engine::allowed_cores();
        let info = read("/proc/cpuinfo");
        let cpu = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
        let mut sockets: Vec<_> = cores
            .iter()
            .map(|core| {
                read(&format!("/sys/devices/system/cpu/cpu{core}/topology/physical_package_id"))
                    .trim()
                    .to_owned()
            })
            .collect();
        sockets.sort_unstable();
        sockets.dedup();
        let reserved = read("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages");
        let transparent = read("/sys/kernel/mm/transparent_hugepage/enabled");
        let transparent = transparent.split(['[', ']']).nth(1).unwrap_or("unknown");
        Self {
            cpu: cpu.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned()),
            cores: cores.len(),
            sockets: sockets.len().max(1),
            caches: caches(),
            memory: memory(&read("/proc/meminfo")),
            kernel: format!("Linux {}", read("/proc/sys/kernel/osrelease").trim()),
            huge_pages: format!("{} reserved, transparent: {transparent}", or_zero(reserved.trim())),
        }
    }

    /// Returns the reason why the machine cannot measure what needs this many cores, if it cannot.
    pub fn lacks_cores(&self, needed: usize) -> Option<String> {
        (self.cores < needed).then(|| format!("it needs {needed} cores, this machine has {}", self.cores))
    }

    /// Returns what is written in the place of a value that needs this many cores and was not measured.
    pub(crate) fn remark(&self, needed: usize) -> String {
        if self.cores < needed { format!("needs {needed} cores") } else { "not measured".to_owned() }
    }

    /// Returns the text that tells the machine from those whose measurements are not its own.
    pub(crate) fn fingerprint(&self) -> String {
        let gib = self.memory as f64 / f64::from(1 << 30);
        format!("{}, {} cores, {gib:.0} GiB", self.cpu, self.cores)
    }

    /// Reads a fingerprint back; what it does not say is unknown.
    pub(crate) fn from_fingerprint(text: &str) -> Option<Self> {
        let (rest, memory) = text.rsplit_once(", ")?;
        let (cpu, cores) = rest.rsplit_once(", ")?;
        let gib: u64 = memory.strip_suffix(" GiB")?.parse().ok()?;
        Some(Self {
            cpu: cpu.to_owned(),
            cores: cores.strip_suffix(" cores")?.parse().ok()?,
            sockets: 1,
            caches: [0; 3],
            memory: gib << 30,
            kernel: "unknown".to_owned(),
            huge_pages: "unknown".to_owned(),
        })
    }

    /// Returns the machine's properties, each with its name.
    pub(crate) fn facts(&self) -> Vec<(&'static str, String)> {
        let size = |bytes: u64| match bytes {
            0 => "unknown".to_owned(),
            bytes => notation::size_text(bytes as usize),
        };
        let [l1, l2, l3] = self.caches.map(size);
        vec![
            ("Processor", self.cpu.clone()),
            ("Cores that may be used", format!("{}, in {} socket(s)", self.cores, self.sockets)),
            ("Caches of a core", format!("L1 data {l1}, L2 {l2}, L3 {l3} (shared)")),
            ("Memory", notation::size_text(self.memory as usize)),
            ("Kernel", self.kernel.clone()),
            ("Huge pages of 2 MiB", self.huge_pages.clone()),
        ]
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn or_zero(text: &str) -> &str {
    if text.is_empty() { "0" } else { text }
}

/// Bytes, from `MemTotal`.
fn memory(info: &str) -> u64 {
    let total = info.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = total.and_then(|total| total.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

fn caches() -> [u64; 3] {
    let mut sizes = [0; 3];
    for index in 0..8 {
        let member = |name: &str| {
            read(&format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{name}")).trim().to_owned()
        };
        let size = member("size").strip_suffix('K').and_then(|kib| kib.parse::<u64>().ok());
        let (Some(kib), Ok(level)) = (size, member("level").parse::<usize>()) else { continue };
        if (1..=3).contains(&level) && member("type") != "Instruction" {
            sizes[level - 1] = kib * 1024;
        }
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said() {
        let machine = MachineProfile { cores: 2, sockets: 1, ..MachineProfile::here() };
        assert_eq!(machine.lacks_cores(2), None);
        let lacks = machine.lacks_cores(6).expect("a reason");
        assert_eq!(lacks, "it needs 6 cores, this machine has 2");
        assert_eq!([6, 2].map(|cores| machine.remark(cores)), ["needs 6 cores", "not measured"]);
        assert!(machine.facts().iter().all(|(name, value)| !name.is_empty() && !value.is_empty()));
        let back = MachineProfile::from_fingerprint(&machine.fingerprint()).expect("a machine");
        assert_eq!((&back.cpu, back.cores, back.caches), (&machine.cpu, 2, [0; 3]));
        assert_eq!(back.fingerprint(), machine.fingerprint());
        assert_eq!(MachineProfile::from_fingerprint("a machine"), None);
        assert_eq!(memory("MemFree: 3 kB\nMemTotal:       2048 kB\n"), 2 << 20);
        assert_eq!(memory(""), 0);
    }
}
