//! The user and the password that are shown to an engine: from a file or the environment, never from the command line.

use super::lines::Trouble;
use crate::client::credentials;
use crate::engine_options::EngineOptions;
use ureq::http::Uri;

const USER: &str = "EDISON_ENGINE_USER";
const PASSWORD: &str = "EDISON_ENGINE_PASSWORD";

/// Returns true if an engine at such an address is asked over TLS.
pub(super) fn is_tls(address: &str) -> Result<bool, Trouble> {
    let wrong = |reason: &str| Err(Trouble::Usage(format!("--engine-url {address}: {reason}")));
    if address.contains('@') {
        // The address is not repeated: it may have a password.
        let line =
            "--engine-url has no user and no password: --engine-login FILE, or the environment, shows them";
        return Err(Trouble::Usage(line.to_owned()));
    }
    let Ok(uri) = address.parse::<Uri>() else {
        return wrong("this is no address, as http://127.0.0.1:8123");
    };
    match uri.scheme_str() {
        Some("https") => Ok(true),
        Some("http") => Ok(false),
        _ => wrong("the HTTP interface is at http://HOST:8123 or https://HOST:8443"),
    }
}

/// User and password, if they are given. They are not sent in clear to another machine.
pub(super) fn read_login(
    options: &EngineOptions,
    address: &str,
) -> Result<Option<(String, String)>, Trouble> {
    let (user, password, place) = match &options.engine_login {
        Some(file) => {
            let place = format!("--engine-login {}", file.display());
            let text = secret::read_text(file);
            let text = text.map_err(|error| Trouble::Usage(format!("{place}: {error}")))?;
            let mut lines = text.lines().map(|line| line.trim().to_owned());
            (lines.next().unwrap_or_default(), lines.next().unwrap_or_default(), place)
        }
        None => {
            let Some(user) = std::env::var(USER).ok().filter(|user| !user.is_empty()) else {
                return Ok(None);
            };
            (user, std::env::var(PASSWORD).unwrap_or_default(), USER.to_owned())
        }
    };
    let is_fit = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
    if user.is_empty() || !is_fit(&user) || !is_fit(&password) {
        let line = format!("{place}: there is to be a user, and a password, in letters of ASCII");
        return Err(Trouble::Usage(line));
    }
    if !is_tls(address)? && !credentials::is_loopback(address) {
        return Err(Trouble::Usage(format!(
            "--engine-url {address}: the password would be sent in clear: use https://, or leave out {place}"
        )));
    }
    Ok(Some((user, password)))
}
