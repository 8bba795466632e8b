//! Options of `edison watch` by which an event runs a program or is posted to a server.

use clap::Args;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use ureq::http::Uri;

/// The heading of these options.
const ACTIONS: &str = "Actions";

/// Options of what is done with each event that is shown.
#[derive(Clone, Debug, Args)]
pub(crate) struct ActionOptions {
    /// Run this program for each event, with the event's JSON on its standard input and EVENT_… in its environment
    ///
    /// The program and its arguments, with quotes as a shell has them. No shell runs, and no text of an event is in the arguments. EVENT_ID, EVENT_KIND,
    /// EVENT_QUERY, EVENT_NODE, EVENT_AT, EVENT_PARENT, EVENT_TITLE, EVENT_CONTROLLER, and EVENT_KEY_NAME and EVENT_VALUE_NAME for each member of the key and of the
    /// values.
    #[arg(help_heading = ACTIONS, long, value_name = "COMMAND")]
    pub(crate) exec: Option<CommandWords>,
    /// The number of these programs that run at once; 1,000 further events wait
    #[arg(help_heading = ACTIONS, long, value_name = "N", default_value_t = 4, requires = "exec", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) exec_jobs: u16,
    /// The time that such a program may run before it is ended, with what it started
    #[arg(help_heading = ACTIONS, long, value_name = "TIME", default_value = "5min", requires = "exec", value_parser = notation::duration)]
    pub(crate) exec_time: Duration,
    /// Post each event's JSON to this URL; may be given several times
    #[arg(help_heading = ACTIONS, long, value_name = "URL", env = "EDISON_WEBHOOK", hide_env = true)]
    pub(crate) webhook: Vec<WebhookUrl>,
    /// A file whose first line is the token that webhooks are shown (Authorization: Bearer)
    #[arg(help_heading = ACTIONS, long, value_name = "FILE", requires = "webhook")]
    pub(crate) webhook_token_file: Option<PathBuf>,
    /// Certificates of the authorities that signed those of webhooks (PEM) [default: those of this system]
    #[arg(help_heading = ACTIONS, long, value_name = "FILE", requires = "webhook")]
    pub(crate) webhook_ca: Option<PathBuf>,
}

/// A program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandWords {
    pub(crate) program: String,
    pub(crate) arguments: Vec<String>,
}

impl FromStr for CommandWords {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words = shlex::split(text).ok_or("a quote in it is not closed")?;
        let mut words = words.into_iter();
        let program = words.next().filter(|word| !word.is_empty()).ok_or("it names no program")?;
        Ok(Self { program, arguments: words.collect() })
    }
}

/// The URL that events are posted to.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct WebhookUrl {
    pub(crate) text: String,
    /// The part of it that may be shown: the path and what follows may have a secret.
    place: String,
    pub(crate) is_tls: bool,
}

impl fmt::Display for WebhookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place)
    }
}

impl fmt::Debug for WebhookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WebhookUrl({})", self.place)
    }
}

impl FromStr for WebhookUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "it must be http://HOST:PORT/PATH or https://HOST/PATH".to_owned();
        let uri: Uri = text.parse().map_err(|_| wrong())?;
        let is_tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(wrong()),
        };
        let (authority, host) = uri.authority().map(|own| own.as_str()).zip(uri.host()).ok_or_else(wrong)?;
        if authority.contains('@') {
            return Err("it has no user and no password: --webhook-token-file FILE shows a token".to_owned());
        }
        if host.is_empty() || (uri.port_u16().is_none() && authority != host) {
            return Err(wrong());
        }
        let scheme = if is_tls { "https" } else { "http" };
        Ok(Self { text: text.to_owned(), place: format!("{scheme}://{authority}"), is_tls })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_split_as_a_shell_splits_it() {
        let words = |text: &str| text.parse::<CommandWords>().map(|own| (own.program, own.arguments));
        let expected = |program: &str, arguments: &[&str]| {
            Ok((program.to_owned(), arguments.iter().map(|&word| word.to_owned()).collect()))
        };
        assert_eq!(words("a"), expected("a", &[]));
        assert_eq!(words("a 'b c' \"d 'e'\" f\\ g ''"), expected("a", &["b c", "d 'e'", "f g", ""]));
        // What a shell would expand stays as it is.
        assert_eq!(words("a $EVENT_ID * `id` > x"), expected("a", &["$EVENT_ID", "*", "`id`", ">", "x"]));
        for wrong in ["", " ", "a 'b", "'' a"] {
            assert!(words(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_webhook_is_shown_without_its_path() {
        let read = |text: &str| text.parse::<WebhookUrl>();
        let url = read("https://hooks.example.org:8443/T0/secret?x=1").expect("a URL");
        assert_eq!((url.to_string().as_str(), url.is_tls), ("https://hooks.example.org:8443", true));
        assert!(!format!("{url:?}").contains("secret") && url.text.ends_with("secret?x=1"));
        assert!(!read("http://[::1]:9/").expect("a URL").is_tls);
        for wrong in ["", "x", "ftp://x/", "http://", "http://x:99999/", "http://user:password@x/", "//x/"] {
            let error = read(wrong).expect_err(wrong);
            assert!(!error.contains("password@"), "{error}");
        }
    }
}
