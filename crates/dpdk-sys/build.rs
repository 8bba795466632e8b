//! Finds DPDK by pkg-config, links it dynamically (its drivers are plug-ins that a static link silently
//! leaves out) and compiles the shim with DPDK's own compiler flags.

use std::process::{Command, exit};

const MISSING: &str = "DPDK was not found: install Debian's package libdpdk-dev, or build without DPDK ports by --no-default-features";

fn main() {
    println!("cargo:rerun-if-changed=shim.c");
    println!("cargo:rerun-if-changed=build.rs");
    let Some(flags) = compiler_flags() else { absent() };
    if pkg_config::Config::new().atleast_version("22.11").statik(false).probe("libdpdk").is_err() {
        absent();
    }
    let mut shim = cc::Build::new();
    shim.file("shim.c").std("gnu11").warnings(true).extra_warnings(true);
    // A word after `-include` is its argument, not a separate flag: the order is preserved.
    for flag in flags.split_whitespace() {
        match flag.strip_prefix("-I") {
            // DPDK's headers are not warning-free under -Wextra.
            Some(path) => shim.flag("-isystem").flag(path),
            None => shim.flag(flag),
        };
    }
    shim.compile("edison_dpdk_shim");
    // A driver, so pkg-config leaves it to the plug-in loader; `rte_eth_from_rings` is called by name.
    println!("cargo:rustc-link-lib=rte_net_ring");
}

/// Returns what DPDK's headers need of the compiler: `-include rte_config.h -march=…` and the include paths. The pkg-config crate gives only
/// the paths.
fn compiler_flags() -> Option<String> {
    let program = std::env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".into());
    let output = Command::new(program).args(["--cflags", "libdpdk"]).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn absent() -> ! {
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    println!("cargo::error={MISSING}");
    exit(0)
}
