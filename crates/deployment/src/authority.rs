//! `edison authority`: a private authority and certificates for trials.

mod certificates;

use super::file_name;
use crate::options::AuthorityOptions;
use certificates::{Authority, IssuedCertificate};
use runtime::exit::{self, Failure};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The names of files that are not of probes.
const OURS: [&str; 3] = ["ca", BROKER, CONTROLLER];
const BROKER: &str = "broker";
const CONTROLLER: &str = "controller";

/// The longest common name that a certificate may have, characters (RFC 5280, `ub-common-name`).
const LONGEST_COMMON_NAME: usize = 64;

/// Makes what is not there yet.
pub(crate) fn run(options: &AuthorityOptions) -> Result<ExitCode, Failure> {
    options.nodes.iter().try_for_each(|name| check(name))?;
    let folder = CertificateFolder(&options.dir);
    std::fs::create_dir_all(folder.0).map_err(|error| folder.wrong("", &error))?;
    let mut told = String::new();
    let authority = authority(&folder, &mut told)?;
    let hosts = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into_iter();
    let hosts: Vec<_> = hosts.chain(options.hosts.iter().cloned()).collect();
    if folder.has(BROKER)? && !options.hosts.is_empty() {
        return Err(Failure::usage(format!(
            "--host: {0}.pem is there already and stays as it is: remove it and {0}.key for one with other names",
            folder.path(BROKER).display()
        )));
    }
    folder.make(BROKER, &mut told, || authority.server(BROKER, &hosts))?;
    for name in [CONTROLLER].into_iter().chain(options.nodes.iter().map(String::as_str)) {
        folder.make(name, &mut told, || authority.client(name))?;
    }
    told.push_str(&advice(&options.dir, options.nodes.first().map_or("NODE", String::as_str)));
    exit::print(&told)
}

/// The authority of a folder, which is made if there is none.
fn authority(folder: &CertificateFolder, told: &mut String) -> Result<Authority, Failure> {
    folder.make("ca", told, certificates::authority)?;
    let (certificate, key) = (folder.path("ca.pem"), folder.path("ca.key"));
    let certificate = std::fs::read(&certificate).map_err(|error| folder.wrong("ca.pem", &error))?;
    let key = secret::read(&key).map_err(Failure::usage)?;
    Authority::read(&certificate, &key).map_err(|reason| folder.wrong("ca.pem", &reason))
}

/// Names are those of nodes, of users and of files.
fn check(name: &str) -> Result<(), Failure> {
    let wrong = |reason: &str| Err(Failure::usage(format!("{name:?}: {reason}")));
    protocol::amqp::check_node(name).map_err(Failure::usage)?;
    file_name::check_name(name).map_err(Failure::usage)?;
    if name.chars().count() > LONGEST_COMMON_NAME {
        return wrong("the name in a certificate has 64 characters at most");
    }
    if OURS.contains(&name) {
        return wrong("this name is taken: 'ca', 'broker' and 'controller' are made without being named");
    }
    Ok(())
}

/// A folder of certificates, NAME.pem, and their keys, NAME.key.
struct CertificateFolder<'a>(&'a Path);

impl CertificateFolder<'_> {
    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn wrong(&self, name: &str, reason: &dyn std::fmt::Display) -> Failure {
        Failure::usage(format!("{}: {reason}", self.path(name).display()))
    }

    /// Returns true if a certificate and its key are there; one alone is of no use.
    fn has(&self, name: &str) -> Result<bool, Failure> {
        let is_there = |name: &str| self.path(name).symlink_metadata().is_ok();
        let (certificate, key) = (format!("{name}.pem"), format!("{name}.key"));
        match (is_there(&certificate), is_there(&key)) {
            (true, true) => Ok(true),
            (false, false) => Ok(false),
            (true, false) if name == "ca" => {
                Err(self.wrong(&key, &"it is missing, and nothing can be signed without it: bring it back"))
            }
            (true, false) => {
                Err(self.wrong(&key, &format!("it is missing: bring it back, or remove {certificate}")))
            }
            (false, true) => {
                Err(self.wrong(&certificate, &format!("it is missing: bring it back, or remove {key}")))
            }
        }
    }

    /// Makes a certificate, unless it is there.
    fn make(
        &self,
        name: &str,
        told: &mut String,
        make: impl FnOnce() -> Result<IssuedCertificate, String>,
    ) -> Result<(), Failure> {
        let (certificate, key) = (format!("{name}.pem"), format!("{name}.key"));
        let is_there = self.has(name)?;
        if !is_there {
            let made = make().map_err(|reason| self.wrong(&certificate, &reason))?;
            let written = |path: &str, error: std::io::Error| {
                Failure::fault(format!("{}: {error}", self.path(path).display()))
            };
            // The key first: where the certificate cannot be written, neither stays.
            secret::create(&self.path(&key), &made.key).map_err(|error| written(&key, error))?;
            secret::create_with(&self.path(&certificate), &made.certificate, 0o644).map_err(|error| {
                let _ = std::fs::remove_file(self.path(&key));
                written(&certificate, error)
            })?;
        }
        let word = if is_there { "is there" } else { "made" };
        // Writing to a text cannot fail.
        let _ = writeln!(told, "{word:<8}  {}, {key}", self.path(&certificate).display());
        Ok(())
    }
}

/// Returns the advice on which file is put where.
fn advice(dir: &Path, node: &str) -> String {
    let dir = dir.display();
    format!(
        "\n\
        ca.key stays here, best where no network is: who has it can be anybody.\n\
        The broker gets ca.pem, broker.pem and broker.key, in rabbitmq.conf (plugin rabbitmq_auth_mechanism_ssl):\n\
        \x20 listeners.tcp = none\n\
        \x20 listeners.ssl.default = 5671\n\
        \x20 ssl_options.cacertfile = /etc/rabbitmq/ca.pem\n\
        \x20 ssl_options.certfile = /etc/rabbitmq/broker.pem\n\
        \x20 ssl_options.keyfile = /etc/rabbitmq/broker.key\n\
        \x20 ssl_options.verify = verify_peer\n\
        \x20 ssl_options.fail_if_no_peer_cert = true\n\
        \x20 ssl_cert_login_from = common_name\n\
        \x20 auth_mechanisms.1 = EXTERNAL\n\
        The controller's machine gets ca.pem, controller.pem and controller.key, each probe's ca.pem and its own two:\n\
        \x20 broker = \"amqps://{node}@HOST\"\n\
        \x20 ca = \"ca.pem\"\n\
        \x20 certificate = \"{node}.pem\"\n\
        \x20 key-file = \"{node}.key\"\n\
        To try it here: scripts/broker start DIR PORT --tls '{dir}'\n"
    )
}
