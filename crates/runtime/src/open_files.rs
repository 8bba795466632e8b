//! The number of files that the program may have open.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Allows as many open files as the system lets this process have: a year of a store has more than the usual 1,024. Where that is not allowed, files
/// that cannot be opened are named.
pub fn allow_many() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}
