//! The argument list that EAL is started with.

use super::device::Device;

/// The kind of memory that EAL takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EalMemory {
    /// Huge pages, allocated as they are needed, without a file for any of them.
    Hugepages,
    /// Ordinary pages: this many MiB of address space, which only take memory when they are used.
    Ordinary {
        /// Mebibytes.
        mib: u64,
    },
}

/// The settings that the user's EAL arguments decide, so that Edison's must not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct EalOverrides {
    cores: bool,
    pci: bool,
    memory_size: bool,
    /// `--no-huge`.
    pub(super) no_huge: bool,
    /// `--log-level`: then the log is passed on unfiltered.
    pub(super) log_level: bool,
}

impl EalOverrides {
    pub(super) fn parse(arguments: &[String]) -> Self {
        let is = |names: &[&str]| {
            arguments.iter().any(|argument| {
                names.iter().any(|name| match name.strip_prefix("--") {
                    Some(_) => argument.split('=').next() == Some(name),
                    // A short option may have its value attached: `-l0-3`.
                    None => argument.starts_with(name) && !argument.starts_with("--"),
                })
            })
        };
        Self {
            cores: is(&["-l", "-c", "-s", "-S", "--lcores"]),
            pci: is(&["-a", "-b", "--allow", "--block", "--no-pci"]),
            memory_size: is(&["-m", "--socket-mem"]),
            no_huge: is(&["--no-huge"]),
            log_level: is(&["--log-level"]),
        }
    }
}

/// The whole list: Edison's first, so that the user's take precedence where EAL uses the last.
///
/// No file remains and processes do not collide: the prefix holds the process id; with huge pages
/// `--in-memory` creates no files at all; without them EAL refuses that flag, and `--no-shconf` is used
/// instead.
pub(super) fn eal_arguments(
    process: u32,
    devices: &[Device],
    memory: EalMemory,
    cpus: &[usize],
    extra: &[String],
) -> Vec<String> {
    let given = EalOverrides::parse(extra);
    let mut arguments: Vec<String> =
        vec!["edison".into(), "--file-prefix".into(), format!("edison-{process}"), "--no-telemetry".into()];
    if !given.log_level {
        arguments.push("--log-level=error".into());
    }
    if !given.cores && !cpus.is_empty() {
        // One lcore that may run wherever this process may: EAL neither pins the caller nor starts workers.
        arguments.extend(["--lcores".into(), format!("0@({})", ranges(cpus))]);
    }
    let pci: Vec<&Device> = devices.iter().filter(|device| device.pci).collect();
    for device in &pci {
        arguments.extend(["-a".into(), device.devargs.clone()]);
    }
    if pci.is_empty() && !given.pci {
        arguments.push("--no-pci".into());
    }
    match memory {
        EalMemory::Hugepages => arguments.push("--in-memory".into()),
        EalMemory::Ordinary { mib } => {
            arguments.push("--no-shconf".into());
            if !given.no_huge {
                arguments.push("--no-huge".into());
            }
            if !given.memory_size {
                arguments.extend(["-m".into(), mib.to_string()]);
            }
        }
    }
    arguments.extend_from_slice(extra);
    arguments
}

/// `[0, 1, 2, 5]` as `0-2,5`.
fn ranges(cpus: &[usize]) -> String {
    cpus.chunk_by(|a, b| a + 1 == *b)
        .map(|run| match run {
            [one] => one.to_string(),
            _ => format!("{}-{}", run[0], run[run.len() - 1]),
        })
        .collect::<Vec<_>>()
        .join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(devargs: &[&str], memory: EalMemory, extra: &[&str]) -> String {
        let devices: Vec<Device> = devargs.iter().map(|text| Device::parse(text).unwrap()).collect();
        let extra: Vec<String> = extra.iter().map(|text| (*text).into()).collect();
        eal_arguments(7, &devices, memory, &[0, 1, 2, 5], &extra).join(" ")
    }

    #[test]
    fn virtual_devices_without_hugepages() {
        assert_eq!(
            list(&["net_null0"], EalMemory::Ordinary { mib: 99 }, &[]),
            "edison --file-prefix edison-7 --no-telemetry --log-level=error --lcores 0@(0-2,5) --no-pci \
             --no-shconf --no-huge -m 99"
        );
    }

    #[test]
    fn cards_with_hugepages() {
        assert_eq!(
            list(&["01:00.0,a=1", "net_null0"], EalMemory::Hugepages, &[]),
            "edison --file-prefix edison-7 --no-telemetry --log-level=error --lcores 0@(0-2,5) -a 01:00.0,a=1 \
             --in-memory"
        );
    }

    #[test]
    fn the_user_decides_what_he_names() {
        assert_eq!(
            list(
                &["net_null0"],
                EalMemory::Ordinary { mib: 99 },
                &["-l0", "--no-huge", "-m", "5", "--log-level=lib.eal:debug"]
            ),
            "edison --file-prefix edison-7 --no-telemetry --no-pci --no-shconf -l0 --no-huge -m 5 \
             --log-level=lib.eal:debug"
        );
    }
}
