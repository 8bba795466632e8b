//! The tester's two ports, on both sides of a device under test: test frames leave by one and come back by the other.

use crate::assembly::nodes;
use crate::assembly::port_drivers::{self, OpenTestPorts};
use crate::exit::Failure;
use port::{InterfaceOptions, InterfaceSink, InterfaceSource, PacketSink, PacketSource};

/// The ports on both sides of a device, open.
pub struct TestPorts {
    /// The port by which test frames leave.
    pub tx: Box<dyn PacketSink>,
    /// The port by which test frames come back.
    pub rx: Box<dyn PacketSource>,
    /// A sink of the receiving port, by which learning frames leave.
    pub learning: Box<dyn PacketSink>,
}

/// Opens the ports on both sides of a device, each an interface of the kernel or the devargs of a DPDK port. `longest` is the length of the
/// longest frame without check sequence; whether a port takes such frames shows when it is open.
///
/// # Errors
/// Returns wrong usage if a port is neither, both are the same, or one cannot be opened.
pub fn open(tx: &str, rx: &str, eal: Option<&str>, longest: usize) -> Result<TestPorts, Failure> {
    for (option, port) in [("--tx", tx), ("--rx", rx)] {
        if !nodes::is_interface(port) && !nodes::is_port(port) {
            return Err(Failure::usage(format!(
                "{option} {port}: there is no such interface, and it is no DPDK port (a PCI address, or a virtual device such as \
                 net_af_packet0,iface=eth0): 'edison ports' lists what there is"
            )));
        }
    }
    if device(tx) == device(rx) || interface_under(tx) == interface_under(rx) {
        return Err(Failure::usage(format!(
            "--tx {tx} and --rx {rx} are the same port: a device is tested between two, one on each side of it"
        )));
    }
    let as_port = |port| (!nodes::is_interface(port)).then_some(port);
    let opened = match (as_port(tx), as_port(rx)) {
        (None, None) if eal.is_some() => {
            return Err(Failure::usage("--eal: neither --tx nor --rx is a DPDK port"));
        }
        (None, None) => OpenTestPorts::default(),
        (tx_port, rx_port) => {
            let option = if tx_port.is_some() { "--tx with a DPDK port" } else { "--rx with a DPDK port" };
            (port_drivers::find(option)?.test_ports)(eal, tx_port, rx_port, longest)?
        }
    };
    let tx = match opened.tx {
        Some(sink) => sink,
        None => Box::new(InterfaceSink::open(tx)?),
    };
    let (learning, rx): (Box<dyn PacketSink>, Box<dyn PacketSource>) = match opened.rx {
        Some(both) => both,
        None => (
            Box::new(InterfaceSink::open(rx)?),
            Box::new(InterfaceSource::open(rx, &InterfaceOptions::default())?),
        ),
    };
    Ok(TestPorts { tx, rx, learning })
}

/// Returns the device that a port is: an interface, a PCI address, a virtual device.
fn device(port: &str) -> &str {
    let device = port.split(',').next().unwrap_or_default();
    device.strip_prefix("pci:").or_else(|| device.strip_prefix("vdev:")).unwrap_or(device)
}

/// Returns the kernel interface that a port stands on, or the port itself.
fn interface_under(port: &str) -> &str {
    port.split(',').skip(1).find_map(|argument| argument.strip_prefix("iface=")).unwrap_or(port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_known_by_its_device_and_its_interface() {
        assert_eq!(device("pci:0000:01:00.0,arg=1"), device("0000:01:00.0"));
        assert_eq!(interface_under("net_af_packet0,qpairs=1,iface=eth0"), interface_under("eth0"));
        assert_ne!(
            interface_under("net_af_packet0,iface=eth0"),
            interface_under("net_af_packet0,iface=eth1")
        );
        for (tx, rx) in [("lo", "lo"), ("lo", "net_af_packet0,iface=lo"), ("net_null0", "net_null0,copy=1")] {
            let Err(failure) = open(tx, rx, None, 1514) else { panic!("{tx} and {rx}") };
            assert!(failure.line().contains("the same port"), "{}", failure.line());
        }
        let Err(failure) = open("lo", "nosuch0", None, 1514) else { panic!("there is no such interface") };
        assert!(failure.line().starts_with("--rx nosuch0: there is no such interface"), "{}", failure.line());
    }
}
