//! The device that the user's devargs name: a PCI device or a virtual one.

use std::path::Path;

/// The folder in which the kernel lists the devices of the PCI bus.
pub(super) const PCI_DEVICES: &str = "/sys/bus/pci/devices";

/// A device by its devargs, as `--port` accepts them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Device {
    /// The devargs as the user wrote them.
    pub(super) devargs: String,
    /// EAL's name of the device.
    pub(super) name: String,
    /// True if the device sits on the PCI bus.
    pub(super) pci: bool,
}

impl Device {
    /// Returns true if the machine has a device at this PCI address.
    pub(super) fn is_on_the_bus(&self) -> bool {
        self.pci && Path::new(PCI_DEVICES).join(&self.name).exists()
    }

    /// # Errors
    /// Returns what is wrong with the text.
    pub(super) fn parse(devargs: &str) -> Result<Self, String> {
        let text = devargs.trim();
        let first = text.split(',').next().unwrap_or_default();
        if first.is_empty() || text.contains('\0') {
            return Err(format!(
                "port '{}' names no device: give a PCI address (0000:01:00.0) or a virtual device (net_null0)",
                text.escape_default()
            ));
        }
        let bare = first.strip_prefix("pci:").unwrap_or(first);
        Ok(match pci_address(bare) {
            Some(name) => Self { devargs: text.strip_prefix("pci:").unwrap_or(text).into(), name, pci: true },
            None => Self {
                devargs: text.into(),
                name: first.strip_prefix("vdev:").unwrap_or(first).into(),
                pci: false,
            },
        })
    }

    /// The value of an argument of the device, the first if it is given several times.
    pub(super) fn argument(&self, key: &str) -> Option<&str> {
        self.arguments().find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    fn arguments(&self) -> impl Iterator<Item = (&str, &str)> {
        self.devargs.split(',').skip(1).filter_map(|argument| argument.split_once('='))
    }

    /// Returns the number of receive queues of the device, if its arguments determine it and frames reach each of them whether it is polled
    /// or not.
    pub(super) fn fixed_queues(&self) -> Option<u16> {
        let number = |key| self.argument(key).and_then(|text| text.parse().ok()).unwrap_or(1);
        if self.is_virtual("net_pcap") {
            let receives =
                |(name, _): &(&str, &str)| ["rx_pcap", "rx_iface", "rx_iface_in", "iface"].contains(name);
            Some(u16::try_from(self.arguments().filter(receives).count()).unwrap_or(u16::MAX).max(1))
        } else if self.is_virtual("net_af_packet") {
            Some(number("qpairs"))
        } else if self.is_virtual("net_af_xdp") {
            Some(number("queue_count"))
        } else {
            None
        }
    }

    /// True for a virtual device of this driver.
    pub(super) fn is_virtual(&self, driver: &str) -> bool {
        !self.pci
            && self
                .name
                .strip_prefix(driver)
                .is_some_and(|instance| instance.bytes().all(|byte| byte.is_ascii_digit()))
    }

    /// True if the frames come from a capture file and end with it: they have the file's times.
    pub(super) fn is_replay(&self) -> bool {
        self.is_virtual("net_pcap")
            && self.argument("rx_pcap").is_some()
            && self.argument("infinite_rx").unwrap_or("0") == "0"
    }
}

/// `DDDD:BB:DD.F` or `BB:DD.F` in the first form.
fn pci_address(text: &str) -> Option<String> {
    let (slot, function) = text.split_once('.')?;
    let mut parts = slot.rsplit(':');
    let device = hex(parts.next()?, 2)?;
    let bus = hex(parts.next()?, 2)?;
    let domain = parts.next().map_or(Some(0), |domain| hex(domain, 8))?;
    if parts.next().is_some() || device > 0x1f || function.len() != 1 {
        return None;
    }
    let function = hex(function, 1).filter(|&function| function < 8)?;
    Some(format!("{domain:04x}:{bus:02x}:{device:02x}.{function:x}"))
}

fn hex(text: &str, most: usize) -> Option<u32> {
    let valid = !text.is_empty() && text.len() <= most && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if valid { u32::from_str_radix(text, 16).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_does_not_exist_is_not_on_the_bus() {
        assert!(!Device::parse("ffff:ff:1f.7").unwrap().is_on_the_bus());
        for entry in std::fs::read_dir(PCI_DEVICES).into_iter().flatten().flatten().take(3) {
            let name = entry.file_name().into_string().unwrap();
            assert!(Device::parse(&name).unwrap().is_on_the_bus(), "{name}");
        }
    }

    #[test]
    fn pci_addresses_in_each_spelling() {
        for text in ["0000:01:00.0", "01:00.0", "pci:0000:01:00.0", "0000:01:00.0,rxq_cqe_comp_en=0"] {
            let device = Device::parse(text).unwrap();
            assert!(device.pci, "{text}");
            assert_eq!(device.name, "0000:01:00.0");
        }
        for text in ["net_null0", "01:20.0", "01:00.8", "0:0:0:0.0", "1.2", "x1:00.0"] {
            assert!(!Device::parse(text).unwrap().pci, "{text}");
        }
    }

    #[test]
    fn arguments_of_a_virtual_device() {
        let device = Device::parse("net_pcap0,rx_pcap=/tmp/a.pcap,infinite_rx=0").unwrap();
        assert_eq!(device.name, "net_pcap0");
        assert_eq!(device.argument("rx_pcap"), Some("/tmp/a.pcap"));
        assert_eq!(device.argument("rx"), None);
        assert!(device.is_replay() && device.is_virtual("net_pcap") && !device.is_virtual("net"));
        assert!(!Device::parse("net_pcap0,rx_pcap=a,infinite_rx=1").unwrap().is_replay());
        assert!(!Device::parse("net_pcap0,iface=lo").unwrap().is_replay());
    }

    #[test]
    fn devargs_that_say_how_many_queues() {
        for (devargs, queues) in [
            ("net_pcap0,rx_pcap=a", Some(1)),
            ("net_pcap0,rx_pcap=a,tx_pcap=b,rx_pcap=c", Some(2)),
            ("net_pcap0,iface=lo", Some(1)),
            ("net_af_packet0,iface=lo,qpairs=4", Some(4)),
            ("net_af_packet0,iface=lo", Some(1)),
            ("net_af_xdp0,iface=lo,queue_count=3", Some(3)),
            ("net_null0", None),
            ("0000:01:00.0,qpairs=4", None),
        ] {
            assert_eq!(Device::parse(devargs).unwrap().fixed_queues(), queues, "{devargs}");
        }
    }

    #[test]
    fn a_port_without_a_name_is_refused() {
        for text in ["", "  ", ",iface=lo", "net_null0\0"] {
            assert!(Device::parse(text).is_err(), "{text:?}");
        }
    }
}
