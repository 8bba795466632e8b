//! DPDK's Environment Abstraction Layer: started once per process, ended with the last port.

use super::arguments::{EalMemory, EalOverrides, eal_arguments};
use super::device::Device;
use super::hugepages::Hugepages;
use crate::{SourceError, SourceSetting};
use std::ffi::{CStr, CString, c_char, c_int};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The memory that EAL takes in addition to the pools of mbufs, bytes.
const BASE_BYTES: u64 = 64 << 20;

static STARTED: AtomicBool = AtomicBool::new(false);
/// True between start and end; held for as long as either must not change.
static RUNNING: Mutex<bool> = Mutex::new(false);

/// The configuration with which EAL is started.
#[derive(Clone, Debug, Default)]
pub struct EalConfig {
    /// The devargs of every port that will be opened.
    pub devices: Vec<String>,
    /// Memory that pools, rings and tables will take in DPDK.
    pub memory_bytes: u64,
    /// The user's own arguments; they follow Edison's.
    pub arguments: Vec<String>,
}

/// The running EAL. Everything made in it holds it; it is cleaned up when the last holder is gone.
#[derive(Debug)]
pub struct Eal {
    warnings: Mutex<Vec<String>>,
    /// True if the user requested DPDK's log: nothing of it is withheld for error messages.
    log_wanted: bool,
    runtime_directory: Option<PathBuf>,
    /// The arguments of EAL, which keeps pointers into them.
    _arguments: Vec<CString>,
}

impl Eal {
    /// Starts EAL. Virtual devices are added when they are opened; PCI devices must be named here.
    ///
    /// The thread that calls this becomes DPDK's main lcore; polling from it uses the pools' caches. Its CPU
    /// affinity is not changed.
    ///
    /// # Errors
    /// Returns `Open` with EAL's reason; also if EAL was started before in this process, which DPDK does not allow.
    pub fn init(config: &EalConfig) -> Result<Arc<Self>, SourceError> {
        let devices = config
            .devices
            .iter()
            .map(|devargs| Device::parse(devargs))
            .collect::<Result<Vec<_>, _>>()
            .map_err(SourceError::Open)?;
        let given = EalOverrides::parse(&config.arguments);
        let needed = config.memory_bytes.saturating_add(BASE_BYTES);
        let (memory, hint) = choose_memory(needed, given.no_huge);
        let affinity = Affinity::read_current();
        let cpus = affinity.as_ref().map(Affinity::cpus).unwrap_or_default();
        let arguments = eal_arguments(std::process::id(), &devices, memory, &cpus, &config.arguments)
            .into_iter()
            .map(CString::new)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| SourceError::Open("an EAL argument holds a NUL byte: remove it".into()))?;
        if STARTED.swap(true, Ordering::SeqCst) {
            return Err(SourceError::Open(
                "DPDK was started before in this process and cannot be started twice: open all ports at once"
                    .into(),
            ));
        }

        // EAL reorders the list, so it gets its own copy.
        let mut pointers: Vec<*mut c_char> =
            arguments.iter().map(|argument| argument.as_ptr().cast_mut()).collect();
        pointers.push(std::ptr::null_mut());
        let (result, log) = with_log(given.log_level, || {
            // SAFETY: a NULL-terminated list of C strings that live as long as the process uses EAL (`Eal` holds
            // them; on failure EAL is not used). `STARTED` makes it the only call.
            unsafe { dpdk_sys::shim_eal_init((pointers.len() - 1) as c_int, pointers.as_mut_ptr()) }
        });
        if let Some(affinity) = affinity {
            affinity.restore();
        }
        let runtime_directory = runtime_directory();
        if result < 0 {
            // SAFETY: reads a thread-local number.
            let code = unsafe { dpdk_sys::shim_errno() };
            remove(runtime_directory);
            let text = format!("DPDK's EAL does not start: {}", reason(&log, code));
            return Err(SourceError::Refused(SourceSetting::Eal, text));
        }
        *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) = true;
        Ok(Arc::new(Self {
            warnings: Mutex::new(hint.into_iter().collect()),
            log_wanted: given.log_level,
            runtime_directory,
            _arguments: arguments,
        }))
    }

    /// Warnings since the last call, each on one line.
    pub fn warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.warnings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Runs `call` and returns its result together with what DPDK logged meanwhile.
    pub(super) fn logged<T>(&self, call: impl FnOnce() -> T) -> (T, String) {
        with_log(self.log_wanted, call)
    }
}

impl Drop for Eal {
    fn drop(&mut self) {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        *running = false;
        // SAFETY: each port, pool and ring holds an `Arc` of this, so all of them are gone.
        unsafe { dpdk_sys::rte_eal_cleanup() };
        remove(self.runtime_directory.take());
    }
}

/// Makes the call unless EAL has ended, and keeps EAL from ending meanwhile: for callers that hold no
/// [`Eal`].
pub(super) fn while_running(call: impl FnOnce()) {
    let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    if *running {
        call();
    }
}

/// DPDK's version, without starting it.
pub(super) fn version() -> String {
    // SAFETY: returns a constant string and needs no EAL.
    unsafe { CStr::from_ptr(dpdk_sys::rte_version()) }.to_string_lossy().into_owned()
}

/// The reason of a failure on one line: what DPDK logged, else the text of the error number.
pub(super) fn reason(log: &str, code: c_int) -> String {
    let mut lines: Vec<&str> = Vec::new();
    for line in telling(log) {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    if lines.is_empty() {
        // SAFETY: returns a string for any number, constant or in the thread's own buffer.
        unsafe { CStr::from_ptr(dpdk_sys::rte_strerror(code.abs())) }.to_string_lossy().into_owned()
    } else {
        lines.join("; ").chars().take(400).collect()
    }
}

/// The lines with the cause: not EAL's own summary that a device was not attached.
pub(super) fn telling(log: &str) -> impl Iterator<Item = &str> {
    const SUMMARIES: [&str; 2] = ["EAL: Failed to attach device", "EAL: Driver cannot attach"];
    log.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !SUMMARIES.iter().any(|summary| line.starts_with(summary)))
}

/// Huge pages where there are enough free ones, and a hint where there are not.
fn choose_memory(needed: u64, refused: bool) -> (EalMemory, Option<String>) {
    const PAGE: u64 = 2 << 20;
    let free = Hugepages::free_bytes(&Hugepages::detect());
    if free >= needed && !refused {
        return (EalMemory::Hugepages, None);
    }
    let hint = format!(
        "DPDK runs without hugepages, which costs speed: {} MiB are needed and {} MiB are free; 'sysctl vm.nr_hugepages={}' as root sets them aside",
        needed >> 20,
        free >> 20,
        needed.div_ceil(PAGE)
    );
    // If physical addresses are required, no mbuf crosses a page: most then have one of 4 KiB to themselves.
    // It is address space, which costs nothing unused.
    (EalMemory::Ordinary { mib: needed.saturating_mul(2).div_ceil(1 << 20) }, (!refused).then_some(hint))
}

fn with_log<T>(wanted: bool, call: impl FnOnce() -> T) -> (T, String) {
    if wanted {
        return (call(), String::new());
    }
    // SAFETY: only switches the shim's log under its lock.
    unsafe { dpdk_sys::shim_log_capture_begin() };
    let result = call();
    let mut text = vec![0_u8; 4096];
    // SAFETY: the buffer has the length that is passed.
    let length = unsafe { dpdk_sys::shim_log_capture_end(text.as_mut_ptr().cast(), text.len()) };
    text.truncate(length);
    (result, String::from_utf8_lossy(&text).into_owned())
}

/// Returns where EAL puts runtime files; it makes the directory even when it then puts nothing there.
fn runtime_directory() -> Option<PathBuf> {
    // SAFETY: returns a pointer to EAL's own buffer, empty before it was set.
    let path = unsafe { CStr::from_ptr(dpdk_sys::rte_eal_get_runtime_dir()) }.to_str().ok()?;
    path.contains("edison-").then(|| path.into())
}

/// Removes the directory if it is empty, as is usual: the process that made it is the only user.
fn remove(directory: Option<PathBuf>) {
    if let Some(directory) = directory {
        // A file that cannot be removed is harmless, and the error could no longer be reported.
        let _ = std::fs::remove_dir(directory);
    }
}

/// The CPUs that a thread may run on.
struct Affinity(libc::cpu_set_t);

impl Affinity {
    /// Returns the CPUs that this thread may run on; `None` on a machine with more CPUs than the set can name.
    fn read_current() -> Option<Self> {
        // SAFETY: an all-zero bit set is a valid value.
        let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        // SAFETY: the set has the size that is passed; 0 is the calling thread.
        let result = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) };
        (result == 0).then_some(Self(set))
    }

    fn cpus(&self) -> Vec<usize> {
        // SAFETY: the indices are within the set.
        (0..libc::CPU_SETSIZE as usize).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &self.0) }).collect()
    }

    fn restore(&self) {
        // SAFETY: as in `of_this_thread`. It can only fail if the CPUs were removed meanwhile.
        unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &self.0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_what_the_driver_said_once() {
        let log = "drv(): no such file\n\ndrv(): no such file\nEAL: Driver cannot attach the device (x)\n";
        assert_eq!(reason(log, -1), "drv(): no such file");
        assert_eq!(reason("first\nsecond\n", -1), "first; second");
    }

    #[test]
    fn without_words_it_is_the_error_number() {
        assert_eq!(
            reason("EAL: Failed to attach device on primary process\n", -libc::ENODEV),
            "No such device"
        );
        assert_eq!(reason("", libc::ENOMEM), "Cannot allocate memory");
    }
}
