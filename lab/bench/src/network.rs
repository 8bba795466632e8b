//! Networks of threads, and the programs that make links in them.

use std::io::{self, Write};
use std::process::{Command, Stdio};

/// Moves this thread, and what it starts, into a network of its own, which vanishes with the thread.
pub(crate) fn leave_network() -> Result<(), String> {
    // SAFETY: no pointers; this thread alone moves into a new namespace.
    match unsafe { libc::unshare(libc::CLONE_NEWNET) } {
        0 => Ok(()),
        _ => Err(format!("a network namespace takes root: {}", io::Error::last_os_error())),
    }
}

/// Runs `work` on a thread with a network of its own, and waits for its end.
///
/// # Errors
/// One line: there is no such network, what `work` says, or `failed` if it panics.
pub(crate) fn in_own_network<T: Send + 'static>(
    failed: &str,
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let thread = std::thread::spawn(move || {
        leave_network()?;
        work()
    });
    thread.join().unwrap_or_else(|_| Err(failed.to_owned()))
}

/// The number by which `ip` finds the network of the calling thread.
pub(crate) fn thread_number() -> i32 {
    // SAFETY: it takes nothing and cannot fail.
    unsafe { libc::gettid() }
}

/// Gives arguments, separated by single spaces, to `ip`.
pub(crate) fn ip(arguments: &str) -> Result<(), String> {
    output(Command::new("ip").args(arguments.split(' ')), "").map(|_| ())
}

/// Gives all commands to `tc` at once.
pub(crate) fn tc(orders: &str) -> Result<(), String> {
    output(Command::new("tc").args(["-batch", "-"]), orders).map(|_| ())
}

/// Sets a value of the kernel's that this thread's network has: `ipv4/ip_forward`.
pub(crate) fn set(name: &str, value: &str) -> Result<(), String> {
    std::fs::write(format!("/proc/sys/net/{name}"), value)
        .map_err(|error| format!("the kernel refuses net/{name} = {value}: {error}"))
}

/// Brings a link up on which the kernel sends nothing by itself.
pub(crate) fn bring_up(name: &str) -> Result<(), String> {
    ip(&format!("link set {name} addrgenmode none"))?;
    // A kernel without IPv6 sends none of its frames.
    let _ = set(&format!("ipv6/conf/{name}/disable_ipv6"), "1");
    ip(&format!("link set {name} up"))
}

/// Runs a program to its end; what it said, or why it failed, in one line.
pub(crate) fn output(command: &mut Command, input: &str) -> Result<Vec<u8>, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let failed = |error: io::Error| format!("{name} (Debian's package iproute2) cannot be run: {error}");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    // One that fails early does not read to the end; what it says tells why.
    let _ = child.stdin.take().map(|mut stdin| stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().map_err(failed)?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().next().unwrap_or("no reason given");
    Err(format!("{name} refused to make the device under test: {said}"))
}
