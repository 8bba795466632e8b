//! `edison ports`.

use crate::exit::{self, Failure};
use report::terminal;
use std::process::ExitCode;

/// Prints what can be measured here.
pub(crate) fn print() -> Result<ExitCode, Failure> {
    let mut text = String::from("Interfaces (edison run -i NAME)\n");
    match port::interfaces() {
        Ok(interfaces) => {
            let rows = interfaces.into_iter().map(|interface| {
                let addresses: Vec<_> = interface.addresses.iter().map(ToString::to_string).collect();
                vec![
                    interface.name,
                    if interface.up { "up" } else { "down" }.to_owned(),
                    addresses.join(" "),
                    interface.description.unwrap_or_default(),
                ]
            });
            text += &terminal::text_table(&["name", "state", "addresses", "description"], rows.collect());
        }
        Err(error) => text += &format!("  none: {error}\n"),
    }
    text += "\nDPDK ports (edison run --port DEVARGS)\n";
    text += &dpdk_ports();
    exit::print(&text)
}

#[cfg(feature = "dpdk")]
fn dpdk_ports() -> String {
    port::dpdk::DpdkPorts::of_this_machine().to_string().lines().map(|line| format!("  {line}\n")).collect()
}

#[cfg(not(feature = "dpdk"))]
fn dpdk_ports() -> String {
    "  not in this build: build it with the feature dpdk (Debian's package libdpdk-dev)\n".to_owned()
}
