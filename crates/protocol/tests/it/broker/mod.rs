//! A broker of the tests' own, started by `scripts/broker`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A broker, which ends when it is dropped.
#[derive(Debug)]
pub(crate) struct TestBroker {
    dir: PathBuf,
    port: u16,
    /// Further words of `start`.
    options: Vec<String>,
}

fn script(arguments: &[&str]) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/broker");
    Command::new(script).args(arguments).output().expect("scripts/broker runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

/// A number that no other test has at this time.
fn number() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Relaxed)
}

impl TestBroker {
    /// The place of a broker that is not there yet.
    pub(crate) fn place() -> Self {
        let number = number();
        let dir = std::env::temp_dir().join(format!("edison-broker-{}-{number}", std::process::id()));
        // Three ports that nobody has, below those that connections out are given. Other tests look for theirs meanwhile.
        let begin = 20_000 + std::process::id().wrapping_mul(7).wrapping_add(number * 1000) % 10_000;
        let ports = (begin..32_000).chain(20_000..begin).step_by(3).map(|port| port as u16);
        let is_free = |port: u16| std::net::TcpListener::bind(("127.0.0.1", port)).is_ok();
        let port = ports.into_iter().find(|port| (*port..port + 3).all(is_free)).expect("free ports");
        Self { dir, port, options: Vec::new() }
    }

    /// Starts it, also after it was killed.
    pub(crate) fn start(&self) {
        let port = self.port.to_string();
        let options = self.options.iter().map(String::as_str);
        let started = script(&["start", self.dir(), &port].into_iter().chain(options).collect::<Vec<_>>());
        assert!(started.status.success(), "{}", text(&started.stderr));
        let scheme = if self.options.is_empty() { "amqp" } else { "amqps" };
        assert_eq!(text(&started.stdout), format!("{scheme}://guest:guest@127.0.0.1:{}", self.port));
    }

    pub(crate) fn started() -> Self {
        let broker = Self::place();
        broker.start();
        broker
    }

    /// One that speaks TLS alone, with the certificate of a folder, to who has a certificate.
    pub(crate) fn with_tls(authority: &Path) -> Self {
        let mut broker = Self::place();
        let options = ["--tls", authority.to_str().expect("a path"), "--certificates"];
        broker.options = options.map(str::to_owned).to_vec();
        broker.start();
        broker
    }

    /// One that all tests which run at this time share: each has a host of its own there.
    pub(crate) fn shared() -> Arc<Self> {
        static SHARED: Mutex<Weak<TestBroker>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.upgrade().unwrap_or_else(|| {
            let broker = Arc::new(Self::started());
            *shared = Arc::downgrade(&broker);
            broker
        })
    }

    /// Ends it as a failing machine would.
    pub(crate) fn kill(&self) {
        let killed = script(&["kill", self.dir()]);
        assert!(killed.status.success(), "{}", text(&killed.stderr));
    }

    /// Whether the name of a quorum queue is in its file. RabbitMQ 3.10 writes it half a second after the queue was declared; where it
    /// is killed before, the queue stays without a leader for ever.
    pub(crate) fn has_written(&self, queue: &str) -> bool {
        let found = Command::new("grep")
            .args(["-rlaF", queue, "--include", "names.dets"])
            .arg(self.dir.join("data"))
            .output();
        !found.expect("grep runs").stdout.is_empty()
    }

    /// `rabbitmqctl`.
    pub(crate) fn ctl(&self, arguments: &[&str]) -> String {
        let told = script(&[&["ctl", self.dir()], arguments].concat());
        assert!(told.status.success(), "{arguments:?}: {}", text(&told.stderr));
        text(&told.stdout)
    }

    /// The address of a new virtual host.
    pub(crate) fn host(&self) -> String {
        let name = format!("test{}", number());
        self.ctl(&["add_vhost", &name]);
        self.ctl(&["set_permissions", "-p", &name, "guest", ".*", ".*", ".*"]);
        format!("{}/{name}", self.url())
    }

    pub(crate) fn url(&self) -> String {
        format!("amqp://guest:guest@127.0.0.1:{}", self.port)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    fn dir(&self) -> &str {
        self.dir.to_str().expect("a path")
    }
}

impl Drop for TestBroker {
    fn drop(&mut self) {
        let _ = script(&["kill", self.dir()]);
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}
