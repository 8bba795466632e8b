//! A deployment in a folder: an authority, a broker that speaks TLS alone, and a controller.

use super::rows;
use crate::program;
use protocol::amqp::{BrokerAddress, Tls};
use std::fmt::Display;
use std::fs::{self, File, Permissions};
use std::io::{Read, Seek};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Starts and stops a broker of its own.
const SCRIPT: &str = include_str!("../../../../scripts/broker");
/// The user that the broker brings, with its password.
const GUEST: &str = "guest";
/// Ends the broker and the controller where this process ends without doing so: its end of the pipe is closed then.
const GUARD: &str = r#"read -r _
sh "$1/broker.sh" kill "$1/broker"
pid=$(cat "$1/controller.pid" 2>/dev/null) && tr '\0' ' ' <"/proc/$pid/cmdline" | grep -qF "$1/" && kill "$pid"
rm -rf "$1""#;
/// Longer than a program takes to start or to end on a loaded machine.
const TIMEOUT: Duration = Duration::from_secs(120);

/// The deployment. It ends when it is dropped, and when this process ends, by whatever.
pub(super) struct TestDeployment {
    folder: TempDir,
    guard: Child,
    port: u16,
    pub(super) nodes: Vec<String>,
    pub(super) window_ns: u64,
}

/// A controller that runs.
pub(super) struct ControllerProcess {
    child: Child,
    /// The address of its API.
    pub(super) url: String,
}

impl TestDeployment {
    /// Makes certificates, starts the broker, and provisions it for this number of nodes.
    pub(super) fn new(nodes: u64, window_ns: u64) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(words("no place for temporary files"))?;
        // The broker's user has a folder in it.
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).map_err(words("permissions"))?;
        write(&folder.path().join("broker.sh"), SCRIPT)?;
        let mut guard = Command::new("setsid");
        guard.args(["sh", "-c", GUARD, "sh"]).arg(folder.path());
        let guard = guard.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let nodes = (0..nodes).map(|number| format!("N{number:05}")).collect();
        let guard = guard.map_err(words("setsid"))?;
        let site = Self { folder, guard, port: free_ports(5)?, nodes, window_ns };
        write(&site.path("queries.eq"), &rows::queries())?;
        write(&site.path("controller.toml"), &site.settings())?;
        write(&site.path("password"), GUEST)?;
        fs::set_permissions(site.path("password"), Permissions::from_mode(0o600))
            .map_err(words("permissions"))?;
        let mut authority = edison()?;
        authority.arg("authority").arg(site.path("tls")).args(&site.nodes);
        run(&mut authority)?;
        site.start_broker()?;
        let mut provision = edison()?;
        provision
            .args(["controller", "provision", "--certificates", "--config"])
            .arg(site.path("controller.toml"))
            .args(["--management", &format!("https://127.0.0.1:{}", site.port + 3), "--password-file"])
            .arg(site.path("password"))
            .env("EDISON_MANAGEMENT_USER", GUEST);
        run(&mut provision)?;
        Ok(site)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn settings(&self) -> String {
        let path = |name: &str| self.path(name).display().to_string();
        format!(
            "broker = \"amqps://controller@127.0.0.1:{}\"\nca = {:?}\ncertificate = {:?}\nkey-file = {:?}\n\
             nodes = {:?}\nevery = \"{}ms\"\nqueries = [{:?}]\nstate = {:?}\nlisten = \"127.0.0.1:{}\"\n",
            self.port,
            path("tls/ca.pem"),
            path("tls/controller.pem"),
            path("tls/controller.key"),
            self.nodes,
            self.window_ns / 1_000_000,
            path("queries.eq"),
            path("state.db"),
            self.port + 4,
        )
    }

    /// The broker, spoken to as this user, by a certificate.
    pub(super) fn broker(&self, user: &str) -> Result<BrokerAddress, String> {
        let file = |name: String| fs::read(self.path("tls").join(&name)).map_err(words(&name));
        let (certificate, key) = (file(format!("{user}.pem"))?, file(format!("{user}.key"))?);
        let tls = Tls::new(&file("ca.pem".to_owned())?, Some((&certificate, &key)));
        let tls = tls.map_err(words("the certificates"))?;
        let broker: BrokerAddress =
            format!("amqps://{user}@127.0.0.1:{}", self.port).parse().map_err(words("the address"))?;
        broker.with_tls(tls).map_err(words("the address"))
    }

    fn call_broker(&self, command: &str) -> Command {
        let mut call = Command::new("sh");
        call.arg(self.path("broker.sh")).arg(command).arg(self.path("broker"));
        call
    }

    /// Starts the broker with what it had.
    pub(super) fn start_broker(&self) -> Result<(), String> {
        let mut call = self.call_broker("start");
        call.arg(self.port.to_string()).arg("--tls").arg(self.path("tls"));
        run(call.args(["--certificates", "--management", &(self.port + 3).to_string()]))
    }

    /// Ends the broker in good order.
    pub(super) fn stop_broker(&self) -> Result<(), String> {
        run(&mut self.call_broker("stop"))
    }

    /// Starts a controller and waits until it says where its API is.
    pub(super) fn start_controller(&self) -> Result<ControllerProcess, String> {
        let said = self.path("controller.log");
        let log = File::create(&said).map_err(words("the controller's log"))?;
        let mut call = edison()?;
        call.args(["controller", "--config"]).arg(self.path("controller.toml"));
        let child = call.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn();
        let url = format!("http://127.0.0.1:{}", self.port + 4);
        let mut controller = ControllerProcess { child: child.map_err(words("the controller"))?, url };
        write(&self.path("controller.pid"), &controller.process().to_string())?;
        let began = Instant::now();
        loop {
            let text = fs::read_to_string(&said).unwrap_or_default();
            if text.contains("the API are at") {
                return Ok(controller);
            }
            let has_ended = !matches!(controller.child.try_wait(), Ok(None));
            if has_ended || began.elapsed() > TIMEOUT {
                return Err(format!("the controller does not start: {}", text.trim_end()));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for TestDeployment {
    fn drop(&mut self) {
        // The controller has ended before it: numbers of processes are used again, so the guard looks whose it is.
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}

impl ControllerProcess {
    /// The number of its process.
    pub(super) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Ends it in good order.
    pub(super) fn stop(mut self) -> Result<(), String> {
        let process = i32::try_from(self.child.id()).map_err(words("the controller"))?;
        // SAFETY: kill has no requirements; the child is not reaped, so that the number is its own.
        unsafe { libc::kill(process, libc::SIGTERM) };
        let ended = self.child.wait().map_err(words("the controller"))?;
        if ended.success() { Ok(()) } else { Err(format!("the controller ended: {ended}")) }
    }
}

impl Drop for ControllerProcess {
    fn drop(&mut self) {
        // One that has ended is no error.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn edison() -> Result<Command, String> {
    program::edison().map(Command::new)
}

/// Runs a program to its end. What it says is only shown where it fails. What it leaves running does not keep its output open for us.
fn run(call: &mut Command) -> Result<(), String> {
    let mut said = tempfile::tempfile().map_err(words("no place for temporary files"))?;
    let log = said.try_clone().map_err(words("a temporary file"))?;
    let status = call.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).status();
    let name = call.get_program().to_string_lossy().into_owned();
    let status = status.map_err(words(&name))?;
    if status.success() {
        return Ok(());
    }
    let mut text = String::new();
    let _ = said.rewind().and_then(|()| said.read_to_string(&mut text));
    Err(text.trim_end().lines().last().unwrap_or("it failed").to_owned())
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(words("a temporary file"))
}

fn words<E: Display>(what: &str) -> impl Fn(E) -> String {
    let what = what.to_owned();
    move |error| format!("{what}: {error}")
}

/// Ports in a row that nothing listens on, below those of connections out.
fn free_ports(several: u16) -> Result<u16, String> {
    for _ in 0..1000 {
        let any = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let first = any.map_err(words("no port"))?.port() % 20_000 + 10_000;
        if (first..first + several).all(|port| TcpListener::bind(("127.0.0.1", port)).is_ok()) {
            return Ok(first);
        }
    }
    Err("there are no free ports".to_owned())
}
