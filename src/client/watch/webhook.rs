//! `--webhook`: each event is posted to a URL.

use super::workers::{Outcome, ReceivedEvent};
use crate::client::credentials;
use crate::commands::{ActionOptions, WebhookUrl};
use runtime::exit::Failure;
use runtime::trust;
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use ureq::http::StatusCode;
use ureq::{Agent, Body};

/// The longest times to connect, and for a request with its answer.
const CONNECT: Duration = Duration::from_secs(5);
const TIMEOUT: Duration = Duration::from_secs(10);
/// The waits before an event is posted again. After the last one it is given up.
const WAITS: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4)];
/// The time between two looks at whether the wait is over.
const LOOK: Duration = Duration::from_millis(50);
/// The most of an answer that is read, bytes, and that is repeated, characters.
const MOST_READ: u64 = 4_096;
const MOST_SAID: usize = 200;

/// A URL that events are posted to.
pub(super) struct Webhook {
    url: WebhookUrl,
    agent: Agent,
    authorization: Option<String>,
    stop: Arc<AtomicBool>,
}

/// The reason for which an event was not taken.
enum Refusal {
    /// It may be taken later.
    Later(&'static str, String),
    /// It will never be.
    Never(String),
}

impl Webhook {
    /// Makes a client. `stop`: what was not taken is not posted again.
    pub(super) fn new(
        url: WebhookUrl,
        options: &ActionOptions,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, Failure> {
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            // A token goes nowhere else.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .timeout_connect(Some(CONNECT))
            .timeout_global(Some(TIMEOUT));
        if url.is_tls {
            config = config.tls_config(trust::tls(options.webhook_ca.as_deref(), "--webhook-ca")?);
        }
        let token = options
            .webhook_token_file
            .as_deref()
            .map(|file| credentials::token_of(file, &format!("--webhook-token-file {}", file.display())));
        let authorization = token.transpose()?.map(|token| format!("Bearer {token}"));
        if authorization.is_some() && !url.is_tls && !credentials::is_loopback(&url.text) {
            return Err(Failure::usage(format!(
                "--webhook {url}: the token would be sent in clear: use https://, or leave out --webhook-token-file"
            )));
        }
        Ok(Self { url, agent: config.build().into(), authorization, stop })
    }

    /// Posts an event, several times if need be.
    pub(super) fn post(&self, received: &ReceivedEvent) -> Outcome {
        let mut waits = WAITS.into_iter();
        loop {
            match self.try_once(&received.json) {
                Ok(()) => return Outcome::well("posted", None),
                Err(Refusal::Never(reason)) => return Outcome::failed("refused", reason),
                Err(Refusal::Later(name, reason)) => match waits.next() {
                    Some(wait) if self.waits(wait) => {}
                    Some(_) => return Outcome::ended(),
                    None => {
                        let tries = WAITS.len() + 1;
                        return Outcome::failed(name, format!("given up after {tries} tries: {reason}"));
                    }
                },
            }
        }
    }

    /// Waits. Returns false if the program is told to end.
    fn waits(&self, wait: Duration) -> bool {
        let began = Instant::now();
        while began.elapsed() < wait {
            if self.stop.load(Relaxed) {
                return false;
            }
            std::thread::sleep(LOOK);
        }
        true
    }

    fn try_once(&self, json: &str) -> Result<(), Refusal> {
        let mut request = self.agent.post(&self.url.text).content_type("application/json");
        if let Some(authorization) = &self.authorization {
            request = request.header("Authorization", authorization);
        }
        let response = request.send(json).map_err(|error| not_reached(&error))?;
        match response.status() {
            status if status.is_success() => Ok(()),
            status => Err(refusal(status, response.into_body())),
        }
    }
}

fn not_reached(error: &ureq::Error) -> Refusal {
    let is_slow = match error {
        ureq::Error::Timeout(_) => true,
        ureq::Error::Io(error) => error.kind() == ErrorKind::TimedOut,
        _ => false,
    };
    match is_slow {
        true => Refusal::Later("slow", "it does not answer in time".to_owned()),
        false => Refusal::Later("away", format!("it cannot be reached: {}", short(&error.to_string()))),
    }
}

fn refusal(status: StatusCode, body: Body) -> Refusal {
    let text = body.into_with_config().limit(MOST_READ).lossy_utf8(true).read_to_string();
    let said = short(&text.unwrap_or_default());
    let said = if said.is_empty() { String::new() } else { format!(": {said}") };
    match status.as_u16() {
        408 | 425 | 429 | 500..=599 => Refusal::Later("busy", format!("it is not ready ({status}){said}")),
        _ => Refusal::Never(format!("it refuses the event ({status}){said}")),
    }
}

/// A text as one line, as much of it as is repeated.
fn short(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MOST_SAID).collect()
}
