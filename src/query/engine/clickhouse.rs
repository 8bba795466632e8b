//! ClickHouse by its HTTP interface.

use super::lines::{EngineMessage, EngineOutput, MOST_READ, Trouble, one_line, pass_on, reason, way};
use super::login;
use crate::commands::QueryOptions;
use runtime::trust;
use std::io::Read;
use std::thread;
use std::time::Duration;
use ureq::Agent;

/// The longest time to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The most bytes of a refusal that are read.
const MOST_WORDS: u64 = 64 << 10;
/// Statements name their files: they may be long.
const MOST_STATEMENT: &str = "268435456";

/// Asks ClickHouse.
pub(super) fn ask(options: &QueryOptions, statement: &str) -> Result<EngineOutput, Trouble> {
    let address = options.engine.engine_url.as_deref().unwrap_or_default().trim_end_matches('/').to_owned();
    let time = options.engine.time();
    let login = login::read_login(&options.engine, &address)?;
    let mut config = Agent::config_builder()
        .http_status_as_error(false)
        // A password goes nowhere else.
        .max_redirects(0)
        .max_redirects_will_error(false)
        .proxy(None)
        .timeout_connect(Some(CONNECT_TIMEOUT.min(time)))
        // The other end sees the time limit by itself; where it hangs, this is the end.
        .timeout_global(Some(time));
    if login::is_tls(&address)? {
        let tls = trust::tls(options.remote.ca.as_deref(), "--ca");
        config = config.tls_config(tls.map_err(|failure| Trouble::Usage(failure.line()))?);
    }
    let agent: Agent = config.build().into();
    let seconds = time.as_secs().max(1).to_string();
    let request = agent.post(format!("{address}/")).content_type("text/plain; charset=utf-8").query_pairs([
        ("default_format", "JSONEachRow"),
        ("output_format_json_quote_64bit_integers", "1"),
        ("max_query_size", MOST_STATEMENT),
        ("max_execution_time", &seconds),
        // An error while it reads is an error, not the end of an answer.
        ("wait_end_of_query", "1"),
    ]);
    let request = match login {
        Some((user, password)) => {
            request.header("X-ClickHouse-User", user).header("X-ClickHouse-Key", password)
        }
        None => request,
    };
    let statement = statement.to_owned();
    let (told, said) = way();
    thread::spawn(move || {
        let away = |error: ureq::Error| match error {
            ureq::Error::Timeout(ureq::Timeout::Global) => Trouble::Late(time),
            error => Trouble::Fault(format!(
                "{address} does not answer: {}; is it running, and is --engine-url its HTTP interface?",
                one_line(&error.to_string())
            )),
        };
        let result = request.send(statement.as_str()).map_err(away).and_then(|response| {
            let status = response.status();
            let body = response.into_body().into_with_config().limit(MOST_READ + 2).reader();
            if status.is_success() {
                return pass_on(body, &told);
            }
            let mut words = Vec::new();
            let _ = body.take(MOST_WORDS).read_to_end(&mut words);
            let words = String::from_utf8_lossy(&words);
            Err(Trouble::Fault(format!("{address} refuses ({status}): {}", reason(&words))))
        });
        // Nobody may listen any more.
        let _ = told.send(EngineMessage::End(result));
    });
    Ok(EngineOutput { said, _engine: None })
}
