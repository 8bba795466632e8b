//! The machine's cores, and their distance to devices and memory.

use crate::design::cores_of_list;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use std::fmt;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// The folder in which the kernel reports its NUMA nodes.
const NODES: &str = "/sys/devices/system/node";

/// Cores on which this process may run, by the machine's numbers.
pub fn allowed() -> Vec<usize> {
    let set = sched_getaffinity(None).unwrap_or_default();
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&core| set.is_set(core)).collect();
    // The caller runs on one at least.
    if cores.is_empty() { vec![0] } else { cores }
}

/// Processor time that the calling thread has taken.
pub(crate) fn thread_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// Pins the calling thread to this core.
///
/// # Errors
/// Returns one line if the system does not allow it.
pub fn pin(core: usize) -> Result<(), String> {
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set).map_err(|error| format!("cannot keep a thread on core {core}: {error}"))
}

/// The NUMA nodes of a machine, each with its cores. With one node, or none reported by the kernel, all cores
/// are equally near.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NumaTopology(Vec<(usize, Vec<usize>)>);

impl NumaTopology {
    /// Reads the topology that the kernel reports of this machine.
    pub fn detect() -> Self {
        Self::under(Path::new(NODES))
    }

    fn under(directory: &Path) -> Self {
        let mut nodes: Vec<_> = fs::read_dir(directory)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| {
                let node = entry.file_name().to_str()?.strip_prefix("node")?.parse().ok()?;
                let cores = fs::read_to_string(entry.path().join("cpulist")).ok()?;
                // A node with memory only has an empty list.
                Some((node, cores_of_list(cores.trim()).unwrap_or_default()))
            })
            .collect();
        nodes.sort_unstable();
        Self(nodes)
    }

    fn is_on(&self, core: usize, node: usize) -> bool {
        self.0.iter().any(|(number, cores)| *number == node && cores.contains(&core))
    }

    /// Returns these cores, those of the node first; otherwise in the order that they have.
    pub fn nearest_first(&self, cores: &[usize], node: Option<usize>) -> Vec<usize> {
        let mut cores = cores.to_vec();
        if let Some(node) = node {
            cores.sort_by_key(|&core| !self.is_on(core, node));
        }
        cores
    }

    /// Returns how near the chosen cores are to a port on this node; `None` with a single node.
    pub fn nearness(&self, cores: &[usize], node: Option<usize>) -> Option<Nearness> {
        if self.0.len() < 2 {
            return None;
        }
        let Some(node) = node else { return Some(Nearness::Unknown) };
        let far: Vec<_> = cores.iter().copied().filter(|&core| !self.is_on(core, node)).collect();
        Some(match (cores, far.as_slice()) {
            ([], _) => Nearness::AnyCores { node },
            (_, []) => Nearness::Near { node },
            _ => Nearness::Far { node, cores: far },
        })
    }
}

/// The distance between the cores of a run and its port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Nearness {
    /// The port's node is not known.
    Unknown,
    /// Threads are not pinned to cores.
    AnyCores {
        /// The port's node.
        node: usize,
    },
    /// All cores are on the port's node.
    Near {
        /// The port's node.
        node: usize,
    },
    /// Some cores are not on the port's node.
    Far {
        /// The port's node.
        node: usize,
        /// The cores on other nodes.
        cores: Vec<usize>,
    },
}

impl fmt::Display for Nearness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("the port's NUMA node is not known"),
            Self::AnyCores { node } => write!(f, "the port is on NUMA node {node}"),
            Self::Near { node } => write!(f, "cores on NUMA node {node}, as the port is"),
            Self::Far { node, cores } => {
                let cores: Vec<_> = cores.iter().map(ToString::to_string).collect();
                write!(f, "the port is on NUMA node {node}, core(s) {} are not", cores.join(","))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_nodes() -> NumaTopology {
        NumaTopology(vec![(0, vec![0, 1, 4, 5]), (1, vec![2, 3, 6, 7])])
    }

    #[test]
    fn cores_of_the_ports_node_come_first() {
        let all = [0, 1, 2, 3, 5, 6];
        assert_eq!(two_nodes().nearest_first(&all, Some(1)), [2, 3, 6, 0, 1, 5]);
        assert_eq!(two_nodes().nearest_first(&all, Some(0)), [0, 1, 5, 2, 3, 6]);
        assert_eq!(two_nodes().nearest_first(&all, None), all);
        // A node that does not exist, and a machine that reports none.
        assert_eq!(two_nodes().nearest_first(&all, Some(7)), all);
        assert_eq!(NumaTopology::default().nearest_first(&all, Some(0)), all);
    }

    #[test]
    fn what_was_chosen_is_said_where_nodes_differ() {
        let remark =
            |cores: &[usize], node| two_nodes().nearness(cores, node).expect("two nodes").to_string();
        assert_eq!(remark(&[2, 3], Some(1)), "cores on NUMA node 1, as the port is");
        assert_eq!(remark(&[2, 3, 0], Some(1)), "the port is on NUMA node 1, core(s) 0 are not");
        assert_eq!(remark(&[], Some(1)), "the port is on NUMA node 1");
        assert_eq!(remark(&[0], None), "the port's NUMA node is not known");
        assert_eq!(NumaTopology(vec![(0, vec![0, 1])]).nearness(&[0], Some(0)), None);
    }

    #[test]
    fn nodes_are_read_as_the_kernel_writes_them() {
        let root = std::env::temp_dir().join(format!("edison-nodes-{}", std::process::id()));
        for (name, cores) in
            [("node1", "2-3,6-7\n"), ("node0", "0-1,4-5\n"), ("node2", "\n"), ("power", "1\n")]
        {
            fs::create_dir_all(root.join(name)).unwrap();
            fs::write(root.join(name).join("cpulist"), cores).unwrap();
        }
        let found = NumaTopology::under(&root);
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(found.0[..2], two_nodes().0);
        assert_eq!(found.0[2], (2, vec![]));
        assert_eq!(NumaTopology::under(Path::new("/nonexistent")), NumaTopology::default());
    }
}
