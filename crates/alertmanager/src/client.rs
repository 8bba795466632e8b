//! Requests to an Alertmanager.

use crate::bounded::line;
use crate::{AlertmanagerProblem, AlertmanagerUrl, Notify, NotifyError};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::io::{ErrorKind, Read};
use std::time::Duration;
use ureq::http::StatusCode;
use ureq::tls::TlsConfig;
use ureq::{Agent, Body};

/// The longest times to connect to an Alertmanager, and for a request with its answer.
const CONNECT: Duration = Duration::from_secs(5);
const TIMEOUT: Duration = Duration::from_secs(10);
/// The most of an answer that is read, bytes, and that is repeated in a message, characters.
const MOST_READ: u64 = 4_096;
const MOST_SAID: usize = 300;

/// An Alertmanager.
pub struct AlertmanagerClient {
    address: AlertmanagerUrl,
    agent: Agent,
    authorization: Option<String>,
}

impl AlertmanagerClient {
    /// Makes a client. `tls`: what its certificate is checked by. `credentials`: `USER:PASSWORD` (RFC 7617).
    pub fn new(address: AlertmanagerUrl, tls: Option<TlsConfig>, credentials: Option<&str>) -> Self {
        Self::patient(address, tls, credentials, TIMEOUT)
    }

    fn patient(
        address: AlertmanagerUrl,
        tls: Option<TlsConfig>,
        credentials: Option<&str>,
        patience: Duration,
    ) -> Self {
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            // Credentials go nowhere else.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .timeout_connect(Some(CONNECT))
            .timeout_global(Some(patience));
        if let Some(tls) = tls {
            config = config.tls_config(tls);
        }
        let authorization = credentials.map(|text| format!("Basic {}", STANDARD.encode(text)));
        Self { address, agent: config.build().into(), authorization }
    }
}

impl Notify for AlertmanagerClient {
    fn place(&self) -> String {
        self.address.to_string()
    }

    fn post(&mut self, body: &str) -> Result<(), NotifyError> {
        let mut request = self.agent.post(self.address.alerts()).content_type("application/json");
        if let Some(authorization) = &self.authorization {
            request = request.header("Authorization", authorization);
        }
        let response = request.send(body).map_err(|error| not_reached(&error))?;
        let status = response.status();
        if !status.is_success() {
            return Err(refusal(status, response.into_body()));
        }
        check_success(response.into_body())
    }
}

/// Checks that an answer of success is one of an Alertmanager, which is empty; a proxy of its API may say something in JSON. Another server's
/// page is no sign that alerts were taken.
fn check_success(body: Body) -> Result<(), NotifyError> {
    let mut read = Vec::new();
    let end = body.into_reader().take(MOST_READ).read_to_end(&mut read);
    end.map_err(|error| not_reached(&ureq::Error::from(error)))?;
    match read.trim_ascii_start().first() {
        None | Some(b'{' | b'[' | b'"') => Ok(()),
        Some(_) => {
            let reason = "answers with a text that is none of Alertmanager's API: another server is there";
            Err(NotifyError::Wait(AlertmanagerProblem::NoApi, reason.to_owned()))
        }
    }
}

fn not_reached(error: &ureq::Error) -> NotifyError {
    let reason = line(&error.to_string(), MOST_SAID);
    let is_slow = match error {
        ureq::Error::Timeout(_) => true,
        ureq::Error::Io(error) => error.kind() == ErrorKind::TimedOut,
        _ => false,
    };
    match is_slow {
        true => NotifyError::Wait(AlertmanagerProblem::Slow, "does not answer in time".to_owned()),
        false => NotifyError::Wait(AlertmanagerProblem::Away, format!("cannot be reached: {reason}")),
    }
}

fn refusal(status: StatusCode, body: Body) -> NotifyError {
    let text = body.into_with_config().limit(MOST_READ).lossy_utf8(true).read_to_string();
    let said = line(&text.unwrap_or_default(), MOST_SAID);
    let said = if said.is_empty() { String::new() } else { format!(": {said}") };
    match status.as_u16() {
        400 | 413 | 422 => NotifyError::Alerts(format!("refuses alerts ({status}){said}")),
        401 | 403 => {
            NotifyError::Wait(AlertmanagerProblem::NotAllowed, format!("wants other credentials ({status})"))
        }
        408 | 429 | 500..=599 => {
            NotifyError::Wait(AlertmanagerProblem::Busy, format!("is not ready ({status}){said}"))
        }
        _ => NotifyError::Wait(
            AlertmanagerProblem::NoApi,
            format!("has no version 2 of the API of Alertmanager ({status})"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::TcpListener;
    use std::sync::mpsc::{Receiver, channel};

    /// A server that answers each connection in this way. Returns its address and what it is asked.
    fn server(answers: Vec<String>) -> (AlertmanagerUrl, Receiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let (sender, asked) = channel();
        std::thread::spawn(move || {
            for answer in answers {
                let (mut stream, _) = listener.accept().expect("a connection");
                let mut read = Vec::new();
                let mut part = [0; 4_096];
                // Its body is a list.
                while !read.ends_with(b"]") {
                    match stream.read(&mut part) {
                        Ok(0) | Err(_) => break,
                        Ok(number) => read.extend_from_slice(&part[..number]),
                    }
                }
                // Who listens has ended where it waits no longer.
                let _ = sender.send(String::from_utf8_lossy(&read).into_owned());
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        (address.parse().expect("an address"), asked)
    }

    fn answer(status: &str, body: &str) -> String {
        format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
    }

    #[test]
    fn answers_say_what_is_wrong() {
        let cases = [
            ("200 OK", "", None),
            ("200 OK", "{\"status\":\"success\"}", None),
            (
                "200 OK",
                "<html>log in</html>",
                Some(NotifyError::Wait(
                    AlertmanagerProblem::NoApi,
                    "answers with a text that is none of Alertmanager's API: another server is there"
                        .to_owned(),
                )),
            ),
            (
                "400 Bad Request",
                "\"bad\n\u{1}label\"",
                Some(NotifyError::Alerts("refuses alerts (400 Bad Request): \"bad label\"".to_owned())),
            ),
            (
                "413 Too Large",
                "",
                Some(NotifyError::Alerts("refuses alerts (413 Payload Too Large)".to_owned())),
            ),
            (
                "401 Unauthorized",
                "x",
                Some(NotifyError::Wait(
                    AlertmanagerProblem::NotAllowed,
                    "wants other credentials (401 Unauthorized)".to_owned(),
                )),
            ),
            (
                "503 Unavailable",
                "later",
                Some(NotifyError::Wait(
                    AlertmanagerProblem::Busy,
                    "is not ready (503 Service Unavailable): later".to_owned(),
                )),
            ),
            (
                "404 Not Found",
                "",
                Some(NotifyError::Wait(
                    AlertmanagerProblem::NoApi,
                    "has no version 2 of the API of Alertmanager (404 Not Found)".to_owned(),
                )),
            ),
            (
                "302 Found",
                "",
                Some(NotifyError::Wait(
                    AlertmanagerProblem::NoApi,
                    "has no version 2 of the API of Alertmanager (302 Found)".to_owned(),
                )),
            ),
        ];
        let (address, asked) = server(cases.iter().map(|(status, body, _)| answer(status, body)).collect());
        let mut client = AlertmanagerClient::new(address, None, Some("edison:secret"));
        for (status, _, expected) in cases {
            assert_eq!(client.post("[]").err(), expected, "{status}");
            let request = asked.recv().expect("a request");
            assert!(request.starts_with("POST /api/v2/alerts HTTP/1.1\r\n"), "{request}");
            assert!(
                request.to_lowercase().contains("authorization: basic zwrpc29uonnly3jlda=="),
                "{request}"
            );
            assert!(request.to_lowercase().contains("content-type: application/json\r\n"), "{request}");
        }
    }

    #[test]
    fn one_that_is_away_or_slow_is_named_so() {
        let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
        let away = format!("http://{port}").parse().expect("an address");
        let refused =
            AlertmanagerClient::new(away, None, None).post("[]").expect_err("no server listens there");
        assert!(
            matches!(&refused, NotifyError::Wait(AlertmanagerProblem::Away, reason) if reason.starts_with("cannot be reached: ")),
            "{refused:?}"
        );
        // The system accepts the connection, and no program answers.
        let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address =
            format!("http://{}", silent.local_addr().expect("an address")).parse().expect("an address");
        let mut client = AlertmanagerClient::patient(address, None, None, Duration::from_millis(300));
        assert_eq!(
            client.post("[]"),
            Err(NotifyError::Wait(AlertmanagerProblem::Slow, "does not answer in time".to_owned()))
        );
    }

    #[test]
    fn an_answer_without_an_end_is_read_in_part() {
        let endless = format!("HTTP/1.1 400 Bad Request\r\n\r\n{}", "x".repeat(1 << 20));
        let (address, _asked) = server(vec![endless]);
        let refused = AlertmanagerClient::new(address, None, None).post("[]").expect_err("it is refused");
        let NotifyError::Alerts(reason) = refused else { panic!("{refused:?}") };
        assert!(reason.chars().count() < 400, "{reason}");
        let (address, _asked) = server(vec![format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(1 << 20))]);
        let refused = AlertmanagerClient::new(address, None, None).post("[]");
        assert!(matches!(&refused, Err(NotifyError::Wait(AlertmanagerProblem::NoApi, _))), "{refused:?}");
    }
}
