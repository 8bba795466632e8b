//! The ports that DPDK could measure on this machine, and what they lack; EAL is not started.

use super::device::PCI_DEVICES;
use super::eal::version;
use super::hugepages::Hugepages;
use std::fmt;
use std::fs;
use std::path::Path;

/// Kernel drivers that share a card with DPDK: it needs no other binding.
const BIFURCATED: [&str; 2] = ["mlx4_core", "mlx5_core"];
/// Kernel drivers that give DPDK access to a card.
const USERSPACE: [&str; 3] = ["vfio-pci", "igb_uio", "uio_pci_generic"];

/// A network card on the PCI bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkDevice {
    /// The address of the card, as `--port` accepts it.
    pub address: String,
    /// Vendor and device number, `8086:1572`.
    pub model: String,
    /// The driver that the card is bound to.
    pub driver: Option<String>,
    /// The kernel interfaces on the card.
    pub interfaces: Vec<String>,
    /// NUMA node, where the machine has several.
    pub numa_node: Option<u32>,
}

impl NetworkDevice {
    /// Returns true when `--port` can open the card as it is.
    pub fn is_ready(&self) -> bool {
        self.driver
            .as_deref()
            .is_some_and(|driver| USERSPACE.contains(&driver) || BIFURCATED.contains(&driver))
    }
}

/// The DPDK part of what `edison ports` shows.
#[derive(Clone, Debug)]
pub struct DpdkPorts {
    /// The library's version.
    pub version: String,
    /// Huge pages by size.
    pub hugepages: Vec<Hugepages>,
    /// Network cards by address.
    pub devices: Vec<NetworkDevice>,
    /// True if this process runs as root or has the capabilities that DPDK's drivers need.
    pub privileged: bool,
    /// The lines on what is missing and how to get it.
    pub missing: Vec<String>,
}

impl DpdkPorts {
    /// Examines this machine.
    pub fn detect() -> Self {
        let hugepages = Hugepages::detect();
        let devices = devices_under(Path::new(PCI_DEVICES));
        let privileged = is_privileged();
        let iommu = fs::read_dir("/sys/kernel/iommu_groups").is_ok_and(|mut groups| groups.next().is_some());
        let missing = missing(&hugepages, &devices, privileged, iommu);
        Self { version: version(), hugepages, devices, privileged, missing }
    }
}

impl fmt::Display for DpdkPorts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "DPDK      {}", self.version)?;
        for size in &self.hugepages {
            writeln!(
                f,
                "hugepages {} MiB: {} free of {}",
                size.page_bytes as f64 / f64::from(1 << 20),
                size.free,
                size.total
            )?;
        }
        writeln!(f, "rights    {}", if self.privileged { "enough for DPDK" } else { "not enough for DPDK" })?;
        for device in &self.devices {
            let state = if device.is_ready() { "ready" } else { "not ready" };
            write!(f, "port      {} {} ", device.address, device.model)?;
            write!(f, "driver {} ({state})", device.driver.as_deref().unwrap_or("none"))?;
            if !device.interfaces.is_empty() {
                write!(f, " interface {}", device.interfaces.join(", "))?;
            }
            if let Some(node) = device.numa_node {
                write!(f, " NUMA node {node}")?;
            }
            writeln!(f)?;
        }
        writeln!(
            f,
            "port      net_null0, net_pcap0,…, net_ring0, net_af_packet0,iface=…, net_af_xdp0,iface=… (virtual)"
        )?;
        for line in &self.missing {
            writeln!(f, "missing   {line}")?;
        }
        Ok(())
    }
}

fn missing(hugepages: &[Hugepages], devices: &[NetworkDevice], privileged: bool, iommu: bool) -> Vec<String> {
    let mut lines = Vec::new();
    if Hugepages::free_bytes(hugepages) == 0 {
        lines.push(
            "free hugepages: 'sysctl vm.nr_hugepages=512' as root sets 1 GiB aside; without them DPDK works, slower"
                .into(),
        );
    }
    if !privileged {
        lines.push(
            "rights: run as root, or 'setcap cap_net_admin,cap_net_raw,cap_sys_admin,cap_ipc_lock,cap_bpf,cap_dac_override+ep' on the program".into(),
        );
    }
    if devices.is_empty() {
        lines.push("a network card on the PCI bus: the virtual ports work without one".into());
    }
    for device in devices.iter().filter(|device| !device.is_ready()) {
        let loss = match device.interfaces.as_slice() {
            [] => String::new(),
            names => format!(" (the host then loses {})", names.join(", ")),
        };
        lines.push(format!(
            "{} is not bound to vfio-pci: 'modprobe vfio-pci; dpdk-devbind.py --bind=vfio-pci {}' as root{loss}",
            device.address, device.address
        ));
    }
    if !devices.is_empty() && !iommu {
        lines.push(
            "an IOMMU: start the kernel with intel_iommu=on or amd_iommu=on; in a virtual machine without one, load vfio with enable_unsafe_noiommu_mode=1".into(),
        );
    }
    lines
}

fn devices_under(directory: &Path) -> Vec<NetworkDevice> {
    let mut devices: Vec<NetworkDevice> = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let path = entry.path();
            let text = |file| Some(fs::read_to_string(path.join(file)).ok()?.trim().to_owned());
            // Class 02: network controllers.
            if !text("class")?.starts_with("0x02") {
                return None;
            }
            let number = |file| text(file).unwrap_or_default().trim_start_matches("0x").to_owned();
            let driver = fs::read_link(path.join("driver")).ok();
            Some(NetworkDevice {
                address: entry.file_name().to_string_lossy().into_owned(),
                model: format!("{}:{}", number("vendor"), number("device")),
                driver: driver.and_then(|link| Some(link.file_name()?.to_string_lossy().into_owned())),
                interfaces: interfaces_of(&path),
                numa_node: text("numa_node").and_then(|node| node.parse().ok()),
            })
        })
        .collect();
    devices.sort_unstable_by(|a, b| a.address.cmp(&b.address));
    devices
}

/// The kernel interfaces of a device; those of a virtio card lie one directory further down.
fn interfaces_of(device: &Path) -> Vec<String> {
    let names = |directory: &Path| -> Vec<String> {
        fs::read_dir(directory.join("net"))
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect()
    };
    let mut found = names(device);
    for entry in fs::read_dir(device).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with("virtio") {
            found.extend(names(&entry.path()));
        }
    }
    found.sort_unstable();
    found
}

/// Root, or CAP_NET_ADMIN (12), CAP_NET_RAW (13) and CAP_SYS_ADMIN (21) in force.
fn is_privileged() -> bool {
    // SAFETY: always succeeds.
    if unsafe { libc::geteuid() } == 0 {
        return true;
    }
    let needed = 1 << 12 | 1 << 13 | 1 << 21;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| u64::from_str_radix(line.strip_prefix("CapEff:")?.trim(), 16).ok())
        .is_some_and(|effective| effective & needed == needed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn cards_are_found_with_their_drivers() {
        let root = std::env::temp_dir().join(format!("edison-pci-{}", std::process::id()));
        let card = |address: &str, class: &str, driver: Option<&str>| {
            let device = root.join(address);
            fs::create_dir_all(&device).unwrap();
            for (file, text) in
                [("class", class), ("vendor", "0x8086\n"), ("device", "0x1572\n"), ("numa_node", "-1")]
            {
                fs::write(device.join(file), text).unwrap();
            }
            if let Some(driver) = driver {
                symlink(format!("../../drivers/{driver}"), device.join("driver")).unwrap();
            }
            device
        };
        card("0000:02:00.0", "0x020000\n", Some("vfio-pci"));
        let kernel = card("0000:01:00.0", "0x020000\n", Some("i40e"));
        fs::create_dir_all(kernel.join("net/eth7")).unwrap();
        let virtio = card("0000:03:00.0", "0x020000", None);
        fs::create_dir_all(virtio.join("virtio0/net/eth8")).unwrap();
        card("0000:04:00.0", "0x030000", Some("i915"));

        let devices = devices_under(&root);
        fs::remove_dir_all(&root).unwrap();
        let seen: Vec<_> = devices
            .iter()
            .map(|d| (d.address.as_str(), d.driver.as_deref(), d.interfaces.join(","), d.is_ready()))
            .collect();
        assert_eq!(
            seen,
            [
                ("0000:01:00.0", Some("i40e"), "eth7".to_owned(), false),
                ("0000:02:00.0", Some("vfio-pci"), String::new(), true),
                ("0000:03:00.0", None, "eth8".to_owned(), false),
            ]
        );
        assert_eq!((devices[0].model.as_str(), devices[0].numa_node), ("8086:1572", None));
        let lines = missing(&[], &devices, true, true);
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[1].contains("0000:01:00.0") && lines[1].contains("eth7"), "{lines:?}");
    }

    #[test]
    fn this_machine_can_be_shown() {
        let ports = DpdkPorts::detect();
        assert!(ports.version.starts_with("DPDK "), "{}", ports.version);
        assert!(ports.to_string().lines().count() >= 3);
    }
}
