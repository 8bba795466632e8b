//! A broker of a test's own, started by `scripts/broker`.

use super::program::run;
use super::scratch::Scratch;
use super::waiting::until;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A broker with its management API, which ends with its test.
pub(crate) struct Broker {
    pub(crate) dir: PathBuf,
    pub(crate) port: u16,
    pub(crate) management: u16,
}

/// `scripts/broker`.
pub(crate) fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/broker")
}

/// Ports in a row that nothing listens on, below those of connections out.
pub(crate) fn free_ports(several: u16) -> u16 {
    until("free ports", || {
        let first = TcpListener::bind("127.0.0.1:0").ok()?.local_addr().ok()?.port() % 20_000 + 10_000;
        (first..first + several).all(|port| TcpListener::bind(("127.0.0.1", port)).is_ok()).then_some(first)
    })
}

impl Broker {
    pub(crate) fn start(scratch: &Scratch, options: &[&str]) -> Self {
        let port = free_ports(4);
        let broker = Self { dir: scratch.path("broker"), port, management: port + 3 };
        let management = broker.management.to_string();
        let mut call = Command::new(script());
        call.arg("start")
            .arg(&broker.dir)
            .arg(port.to_string())
            .args(options)
            .args(["--management", &management]);
        run(&mut call).expect(0);
        broker
    }

    /// `rabbitmqctl`.
    pub(crate) fn ctl(&self, arguments: &[&str]) -> String {
        run(Command::new(script()).arg("ctl").arg(&self.dir).arg("--quiet").args(arguments)).expect(0).stdout
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = Command::new(script()).arg("kill").arg(&self.dir).output();
    }
}
