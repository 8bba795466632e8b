//! RabbitMQ's management API.

use super::plan::{GUEST, ProvisionPlan};
use base64::Engine;
use runtime::broker::is_loopback;
use runtime::exit::Failure;
use serde_json::Value as Json;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use ureq::Agent;
use ureq::http::{Method, Request, Uri};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

/// The longest time that the API may take to answer.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The largest answer that is read, bytes.
const MOST_READ: u64 = 64 << 20;

/// The API of a broker.
pub(super) struct Management {
    address: String,
    agent: Agent,
    /// The value of the header that says who asks.
    authorization: String,
    user: String,
}

impl Management {
    /// Connects as the user of EDISON_MANAGEMENT_USER, with the password of a file or of EDISON_MANAGEMENT_PASSWORD.
    pub(super) fn new(
        url: &str,
        plan: &ProvisionPlan,
        password_file: Option<&Path>,
    ) -> Result<Self, Failure> {
        let wrong = |reason: &str| Failure::usage(format!("--management: {reason}"));
        let address = url.trim_end_matches('/');
        let uri: Uri = address.parse().map_err(|_| wrong("this is no URL: say http://127.0.0.1:15672"))?;
        let authority =
            uri.authority().ok_or_else(|| wrong("the host is missing: say http://127.0.0.1:15672"))?;
        // Not repeated: it has a password.
        if authority.as_str().contains('@') {
            return Err(wrong(
                "who asks is not told in the URL, which others can read: set EDISON_MANAGEMENT_USER and EDISON_MANAGEMENT_PASSWORD",
            ));
        }
        let tls = match uri.scheme_str() {
            Some("https") => Some(tls(plan).map_err(|reason| wrong(&reason))?),
            Some("http") if is_loopback(authority.host()) => None,
            Some("http") => {
                return Err(wrong(
                    "http:// is for this machine alone, as passwords are sent: say https://, or run this at the broker",
                ));
            }
            _ => return Err(wrong("the API is at http://HOST:PORT or https://HOST:PORT")),
        };
        let user = std::env::var("EDISON_MANAGEMENT_USER")
            .map_err(|_| wrong("set EDISON_MANAGEMENT_USER to an administrator of the broker"))?;
        let password = match (password_file, std::env::var("EDISON_MANAGEMENT_PASSWORD")) {
            (Some(file), _) => secret::password(file)
                .map_err(|reason| Failure::usage(format!("--password-file: {reason}")))?,
            (None, Ok(password)) => password,
            (None, Err(_)) => return Err(wrong("set EDISON_MANAGEMENT_PASSWORD, or give --password-file")),
        };
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .proxy(None)
            // What it is told goes to nobody else.
            .max_redirects(0)
            .timeout_connect(Some(TIMEOUT))
            .timeout_recv_response(Some(TIMEOUT))
            .timeout_recv_body(Some(TIMEOUT));
        let config = match tls {
            Some(tls) => config.tls_config(tls).build(),
            None => config.build(),
        };
        let credentials = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
        let authorization = format!("Basic {credentials}");
        Ok(Self { address: address.to_owned(), agent: config.into(), authorization, user })
    }

    /// Checks that the user may do all that is needed.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let who = self.get("/whoami")?.unwrap_or_default();
        if who.get("name").is_none() {
            return Err(self.failed("this is not the management API of a broker"));
        }
        if !tags(&who).iter().any(|tag| tag == "administrator") {
            let user = &self.user;
            return Err(self.failed(format!(
                "user {user:?} is no administrator: rabbitmqctl set_user_tags {user} administrator"
            )));
        }
        Ok(())
    }

    /// Returns what is at a path, if there is something.
    pub(super) fn get(&self, path: &str) -> Result<Option<Json>, Failure> {
        match self.ask(Method::GET, path, None)? {
            (404, _) => Ok(None),
            (200..=299, text) => serde_json::from_str(&text)
                .map(Some)
                .map_err(|error| self.failed(format!("this is not the management API of a broker: {error}"))),
            (status, text) => Err(self.refused(path, status, &text)),
        }
    }

    /// Puts something at a path.
    pub(super) fn put(&self, path: &str, body: &Json) -> Result<(), Failure> {
        self.send(Method::PUT, path, body)
    }

    /// Adds something at a path.
    pub(super) fn post(&self, path: &str, body: &Json) -> Result<(), Failure> {
        self.send(Method::POST, path, body)
    }

    fn send(&self, method: Method, path: &str, body: &Json) -> Result<(), Failure> {
        match self.ask(method, path, Some(body))? {
            (200..=299, _) => Ok(()),
            (status, text) => Err(self.refused(path, status, &text)),
        }
    }

    fn ask(&self, method: Method, path: &str, body: Option<&Json>) -> Result<(u16, String), Failure> {
        let request = Request::builder()
            .method(method)
            .uri(format!("{}/api{path}", self.address))
            .header("authorization", &self.authorization)
            .header("content-type", "application/json");
        let answered = match body {
            Some(body) => self.agent.run(request.body(body.to_string()).map_err(|error| self.failed(error))?),
            None => self.agent.run(request.body(()).map_err(|error| self.failed(error))?),
        };
        let answer = answered.map_err(|error| self.away(&error))?;
        let status = answer.status().as_u16();
        let text = answer.into_body().into_with_config().limit(MOST_READ).read_to_string();
        Ok((status, text.map_err(|error| self.away(&error))?))
    }

    fn failed(&self, reason: impl std::fmt::Display) -> Failure {
        Failure::fault(format!("{}: {}", self.address, reason.to_string().replace('\n', " ")))
    }

    fn away(&self, error: &ureq::Error) -> Failure {
        let hint = "is the plugin rabbitmq_management enabled there?";
        self.failed(format!("the management API does not answer: {error}; {hint}"))
    }

    /// Returns the failure for what the API refuses, in its own words.
    fn refused(&self, path: &str, status: u16, text: &str) -> Failure {
        let user = &self.user;
        let json: Option<Json> = serde_json::from_str(text).ok();
        let reason = json.as_ref().and_then(|json| json["reason"].as_str()).unwrap_or("no reason is given");
        match status {
            401 if path == "/whoami" => self.failed(format!("it refuses user {user:?} or the password: {reason}")),
            401 | 403 => self.failed(format!(
                "it refuses {path} to user {user:?}, who needs all rights in the virtual host (rabbitmqctl set_permissions): {reason}"
            )),
            _ => self.failed(format!("{path}: it says {status}: {reason}")),
        }
    }

    /// Returns true if the administrator that a broker begins with is still there.
    pub(super) fn has_guest(&self) -> Result<bool, Failure> {
        Ok(self.get(&format!("/users/{GUEST}"))?.is_some())
    }
}

/// The tags of a user: a list, or, before RabbitMQ 3.9, a text.
pub(super) fn tags(user: &Json) -> Vec<String> {
    let text = |tag: &str| tag.trim().to_owned();
    let tags: Vec<_> = match &user["tags"] {
        Json::Array(tags) => tags.iter().filter_map(Json::as_str).map(text).collect(),
        Json::String(tags) => tags.split(',').map(text).collect(),
        _ => Vec::new(),
    };
    tags.into_iter().filter(|tag| !tag.is_empty()).collect()
}

/// The authority of the settings is trusted, and no other.
fn tls(plan: &ProvisionPlan) -> Result<TlsConfig, String> {
    let file = plan
        .ca
        .as_deref()
        .ok_or("https:// needs 'ca' in the settings, the file of the authority that the certificate is of")?;
    let wrong = |error: &dyn std::fmt::Display| format!("'ca': {}: {error}", file.display());
    let text = std::fs::read(file).map_err(|error| wrong(&error))?;
    let items = parse_pem(&text).filter_map(|item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(Ok(certificate)),
        Ok(_) => None,
        Err(error) => Some(Err(wrong(&format!("this is no certificate: {error}")))),
    });
    let roots: Vec<Certificate<'static>> = items.collect::<Result<_, _>>()?;
    if roots.is_empty() {
        return Err(wrong(&"there is no certificate in it"));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(TlsConfig::builder()
        .root_certs(RootCerts::Specific(Arc::new(roots)))
        .unversioned_rustls_crypto_provider(provider)
        .build())
}
