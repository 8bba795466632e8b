//! `edison authority`: makes certificates of a deployment.

pub(super) const AUTHORITY_EXAMPLES: &str = "\
Examples:
  edison authority tls Node1 Node2 --host broker.example.net    tls/ca.pem, .pem and .key for each
  edison authority tls Node3                                    one more, of the same authority

Files that are there stay. Certificates of the broker, the controller and the nodes are valid for
two years, the authority for ten. It says what is put where.
Exit codes: 0 well; 1 a file cannot be written; 2 wrong usage, or a file is missing or of something
else.";
