//! `edison ports`.

use runtime::assembly::port_drivers;
use runtime::exit::{self, Failure};
use runtime::lacking::DPDK;
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
    let ports = match port_drivers::find("") {
        Ok(driver) => (driver.list)(),
        Err(_) => format!("this program was built without the feature dpdk: {}\n", DPDK.remedy),
    };
    text.extend(ports.lines().map(|line| format!("  {line}\n")));
    exit::print(&text)
}
