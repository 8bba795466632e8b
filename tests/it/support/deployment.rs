//! Probes, a broker and a controller as programs of their own.

use super::broker::{free_ports, script};
use super::capture;
use super::program::{Ended, Running, edison, run};
use super::scratch::{Scratch, text};
use super::waiting::api_get;
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;
use testbed::veth::{Veth, ip};

/// What a test has started.
pub(crate) struct Deployment {
    pub(crate) scratch: Scratch,
    broker: u16,
    web: u16,
}

impl Deployment {
    /// In the namespace of a test, whose loopback is down at first.
    pub(crate) fn new() -> Self {
        ip("link set lo up");
        Self { scratch: Scratch::new(), broker: free_ports(3), web: free_ports(1) }
    }

    pub(crate) fn broker(&self, command: &str) -> String {
        let mut call = Command::new(script());
        call.arg(command).arg(self.scratch.path("broker"));
        if command == "start" {
            call.arg(self.broker.to_string());
        }
        let output = call.output().expect("the script is there");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "scripts/broker {command}: {said}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// `rabbitmqctl` of the broker.
    pub(crate) fn ctl(&self, arguments: &[&str]) {
        let output =
            Command::new(script()).arg("ctl").arg(self.scratch.path("broker")).args(arguments).output();
        let output = output.expect("the script is there");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    pub(crate) fn url(&self) -> String {
        format!("amqp://guest:guest@127.0.0.1:{}", self.broker)
    }

    pub(crate) fn probe(&self, node: &str, interface: &str) -> Running {
        self.probe_with(node, interface, "")
    }

    /// The same with further lines of settings.
    pub(crate) fn probe_with(&self, node: &str, interface: &str, more: &str) -> Running {
        let settings = format!(
            "broker = \"{}\"\nnode = \"{node}\"\ninterface = [\"{interface}\"]\nevery = \"1s\"\nmemory = \"256MiB\"\n{more}",
            self.url()
        );
        let file = self.scratch.file(&format!("{node}.toml"), settings);
        Running::start(edison().args(["probe", "--config", text(&file)]))
    }

    pub(crate) fn controller_of(&self, nodes: &str, queries: &str) -> Running {
        self.controller_with(nodes, queries, "")
    }

    /// The same with further lines of settings.
    pub(crate) fn controller_with(&self, nodes: &str, queries: &str, more: &str) -> Running {
        Running::start(self.controller_command(&mut edison(), nodes, queries, more))
    }

    /// The command that starts a controller by this program.
    pub(crate) fn controller_command<'a>(
        &self,
        command: &'a mut Command,
        nodes: &str,
        queries: &str,
        more: &str,
    ) -> &'a mut Command {
        let queries = self.scratch.file("chain.eq", queries);
        let settings = format!(
            "broker = \"{}\"\nnodes = [{nodes}]\nevery = \"1s\"\nqueries = [\"{}\"]\nstate = \"{}\"\nlisten = \"127.0.0.1:{}\"\nstandby = true\n{more}",
            self.url(),
            text(&queries),
            text(&self.scratch.path("state.db")),
            self.web
        );
        let file = self.scratch.file("controller.toml", settings);
        command.args(["controller", "--config", text(&file)])
    }

    /// A command that asks the controller.
    pub(crate) fn ask(&self, arguments: &[&str]) -> Ended {
        let address = format!("http://127.0.0.1:{}", self.web);
        run(edison().args(arguments).args(["--controller", &address]))
    }

    /// Where the API of the controller is.
    pub(crate) fn api(&self) -> String {
        format!("http://127.0.0.1:{}/api/v1", self.web)
    }

    pub(crate) fn get(&self, path: &str) -> Option<Value> {
        api_get(self.web, path)
    }

    /// A line of `/metrics` without its name and labels.
    pub(crate) fn metric(&self, series: &str) -> Option<String> {
        let text = ureq::get(format!("http://127.0.0.1:{}/metrics", self.web)).call().ok()?;
        let text = text.into_body().read_to_string().ok()?;
        text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ').map(str::to_owned))
    }

    pub(crate) fn node(&self, name: &str) -> Option<Value> {
        let status = self.get("/status")?;
        status["nodes"].as_array()?.iter().find(|node| node["name"] == name).cloned()
    }

    pub(crate) fn is_up(&self, name: &str) -> bool {
        let is_up =
            |node: Value| node["state"] == "up" && node["tasks"]["wanted"] == node["tasks"]["applied"];
        self.node(name).is_some_and(is_up)
    }

    /// What a node counted in each window that the controller has an answer of.
    pub(crate) fn windows(&self, query: &str, node: &str) -> BTreeMap<String, u64> {
        let answers = self.get(&format!("/answers?query={query}&node={node}&limit=10000"));
        let answers = answers.as_ref().and_then(|answers| answers["answers"].as_array()).cloned();
        let window = |answer: Value| {
            let count = answer["rows"][0].as_object()?.values().next()?.as_u64().unwrap_or(0);
            Some((answer["window"]["start"].as_str()?.to_owned(), count))
        };
        answers.unwrap_or_default().into_iter().filter_map(window).collect()
    }
}

/// A broker that ends with the test.
pub(crate) struct Broker<'a>(pub(crate) &'a Deployment);

impl Drop for Broker<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.0.broker("stop");
        } else {
            let _ = Command::new(script()).arg("stop").arg(self.0.scratch.path("broker")).status();
        }
    }
}

/// Sends frames of which each has another source port.
pub(crate) fn send(veth: &Veth, ports: std::ops::Range<u16>) {
    ports.for_each(|port| veth.send(&capture::udp(port)));
}
