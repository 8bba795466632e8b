//! Finds libpcap.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if let Err(error) = pkg_config::Config::new().atleast_version("1.10").probe("libpcap") {
        let reason = match error {
            pkg_config::Error::Command { .. } => "pkg-config cannot be run (Debian package `pkg-config`)",
            _ => "its development files are not installed",
        };
        println!(
            "cargo::error=libpcap 1.10 or later is needed and {reason}: install the Debian package `libpcap-dev`"
        );
    }
}
