//! The names of the queries that the program asks by itself.

/// The queries whose answers are the rankings of each run.
pub const RANKINGS: [&str; 9] = [
    "top_bytes",
    "top_packets",
    "top_loss",
    "hosts",
    "conversations",
    "ports",
    "protocols",
    "scanners",
    "targets",
];

/// The queries whose answers are the sums over all flows.
pub const SUMS: [&str; 2] = ["totals", "tcp_loss"];

/// Returns whether the program asks a query of this name by itself, so that no query of the user may have it.
pub fn is_own_query(name: &str) -> bool {
    RANKINGS.contains(&name) || SUMS.contains(&name)
}
