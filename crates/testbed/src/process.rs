//! Tests that need a process of their own: because they change it, look at all of it, or start in it what starts only once.

use std::any::type_name;
use std::process::Command;

/// Names the test that a process was started for.
const ALONE: &str = "EDISON_TEST_ALONE";

/// Runs what is in a test in a process in which no other test runs: this program again, with that test alone. The test
/// fails as that process does, and shows what it prints.
///
/// It is called by the test function itself, with all that the function does; the closure tells the test's name.
///
/// ```no_run
/// #[test]
/// fn nothing_else_has_threads() {
///     testbed::process::alone(|| {
///         assert_eq!(std::fs::read_dir("/proc/self/task").unwrap().count(), 2);
///     });
/// }
/// ```
///
/// # Panics
/// If the process fails, or cannot be started.
pub fn alone<Test: FnOnce()>(test: Test) {
    let place = type_name::<Test>();
    let name = place
        .split_once("::")
        .and_then(|(_, path)| path.strip_suffix("::{{closure}}"))
        .unwrap_or_else(|| panic!("{place} is no closure of a test"));
    if std::env::var_os(ALONE).is_some_and(|alone| alone == *name) {
        return test();
    }
    let program = std::env::current_exe().expect("this program has a path");
    let output = Command::new(program)
        .args([name, "--exact", "--include-ignored", "--nocapture"])
        .env(ALONE, name)
        .output()
        .expect("this program starts again");
    let printed = String::from_utf8_lossy(&output.stdout);
    // What a test prints by these is shown as the caller of the tests wants it.
    print!("{printed}");
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{name} in a process of its own: {}", output.status);
    assert!(printed.contains("test result: ok. 1 passed"), "there is no test {name}");
}
