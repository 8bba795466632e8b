//! Firings and resolutions to Alertmanagers: of a run whose queries start others (`--alertmanager`), and of a controller (`alertmanager`).

use crate::client::credentials::tls;
use crate::exit::{Failure, say};
use crate::measurement::no_thread;
use alertmanager::{Address, Book, Client, Counts, Ended, Extra, Notifier, Notify};
use clap::Args;
use events::State;
use report::view::AlertmanagerView;
use report::{Counters, Event};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const OUTPUT: &str = "Output";
/// How often the book is compared with the event machine.
const SETTLE: Duration = Duration::from_secs(1);
/// How long the end waits until everything is told.
const WAIT: Duration = Duration::from_secs(5);

/// Where Alertmanagers are, and what alerts say beside the event: options of `run`, and keys of a controller's file.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct AlertOptions {
    /// Tell this Alertmanager what fires and what is resolved: http://HOST:PORT. May be given several times, for a cluster
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, value_name = "URL", env = "EDISON_ALERTMANAGER", hide_env = true, value_delimiter = ',')]
    pub(crate) alertmanager: Vec<Address>,
    /// A label of every alert, as severity=page, by which Alertmanager routes it. May be given several times
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, value_name = "NAME=VALUE", env = "EDISON_ALERTMANAGER_LABEL", hide_env = true, value_parser = label)]
    pub(crate) alertmanager_label: Vec<(String, String)>,
    /// Where people reach the page: alerts link to it
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, value_name = "URL", env = "EDISON_ALERTMANAGER_PAGE", hide_env = true, value_parser = page)]
    pub(crate) alertmanager_page: Option<String>,
    /// A file with USER:PASSWORD of the Alertmanagers, which only its owner may read
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, value_name = "FILE", env = "EDISON_ALERTMANAGER_CREDENTIALS", hide_env = true)]
    pub(crate) alertmanager_credentials: Option<PathBuf>,
    /// The authorities that signed the certificates of Alertmanagers (PEM) [default: those of this system]
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, value_name = "FILE", env = "EDISON_ALERTMANAGER_CA", hide_env = true)]
    pub(crate) alertmanager_ca: Option<PathBuf>,
}

impl AlertOptions {
    /// An Alertmanager is told.
    pub(crate) fn is_asked(&self) -> bool {
        !self.alertmanager.is_empty()
    }
}

/// A label that every alert has.
pub(crate) fn label(text: &str) -> Result<(String, String), String> {
    let Some((name, value)) = text.split_once('=') else {
        return Err(format!("'{text}' is no label, as severity=page"));
    };
    let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        && !name.starts_with("__");
    if !is_name {
        return Err(format!("'{name}' is no name of a label: letters, digits and _, a letter first"));
    }
    if ["alertname", "node"].contains(&name) {
        return Err(format!("'{name}' is the query's or the node's: take another name"));
    }
    if value.is_empty() {
        return Err(format!("'{name}' has no value: to Alertmanager that is no label"));
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// The address of a page.
pub(crate) fn page(text: &str) -> Result<String, String> {
    // It is of the same form.
    let address: Address =
        text.parse().map_err(|_| format!("'{text}' is no address of a page, as https://HOST:PORT"))?;
    Ok(address.to_string())
}

/// Tells Alertmanagers.
pub(crate) struct Alerts {
    notifier: Notifier,
    settled: Option<Instant>,
}

impl Alerts {
    /// Begins to tell where the options ask for it. `saved`: where an earlier start left off.
    pub(crate) fn start(options: &AlertOptions, saved: Option<&str>) -> Result<Option<Self>, Failure> {
        let AlertOptions { alertmanager: addresses, .. } = options;
        if addresses.is_empty() {
            let lone = [
                (!options.alertmanager_label.is_empty(), "alertmanager-label"),
                (options.alertmanager_page.is_some(), "alertmanager-page"),
                (options.alertmanager_credentials.is_some(), "alertmanager-credentials"),
                (options.alertmanager_ca.is_some(), "alertmanager-ca"),
            ];
            return match lone.iter().find(|(is_given, _)| *is_given) {
                Some((_, name)) => Err(Failure::usage(format!(
                    "{name}: where Alertmanager is is missing: give alertmanager too, as http://127.0.0.1:9093"
                ))),
                None => Ok(None),
            };
        }
        let mut seen = std::collections::BTreeSet::new();
        if let Some(twice) = addresses.iter().find(|address| !seen.insert((*address).clone())) {
            return Err(Failure::usage(format!("alertmanager: {twice} is there twice")));
        }
        let credentials = credentials(options)?;
        let tls = match addresses.iter().any(Address::is_tls) {
            true => Some(tls(options.alertmanager_ca.as_deref(), "alertmanager-ca")?),
            false => None,
        };
        let extra = Extra {
            labels: options.alertmanager_label.iter().cloned().collect(),
            page: options.alertmanager_page.clone(),
        };
        let mut book = Book::new(addresses.iter().map(Address::to_string).collect(), extra);
        if let Some(saved) = saved {
            book.restore(saved)
                .map_err(|error| Failure::fault(format!("the state of alerts is damaged: {error}")))?;
        }
        let client = |address: &Address| {
            Box::new(Client::new(address.clone(), tls.clone(), credentials.as_deref())) as Box<dyn Notify>
        };
        let notifier = Notifier::start(book, addresses.iter().map(client).collect()).map_err(no_thread)?;
        Ok(Some(Self { notifier, settled: None }))
    }

    /// An event happened.
    pub(crate) fn event(&self, event: &Event) {
        self.notifier.with(|book| book.take(event, || events::sentence(event)));
    }

    /// Lets alerts lapse whose conditions are judged no more, now and then.
    pub(crate) fn settle(&mut self, state: &State) {
        if self.settled.is_some_and(|settled| settled.elapsed() < SETTLE) {
            return;
        }
        self.settled = Some(Instant::now());
        self.notifier.with(|book| {
            if book.fires() {
                let held = state.holding();
                book.settle(|event| held.contains(event));
            }
        });
    }

    /// The alerts as data, if they have changed since they were stored.
    #[cfg(feature = "amqp")]
    pub(crate) fn save(&self) -> Option<String> {
        self.notifier.save()
    }

    /// What was saved last is stored.
    #[cfg(feature = "amqp")]
    pub(crate) fn stored(&self) {
        self.notifier.stored();
    }

    /// What is to be said since the last call.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.notifier.lines()
    }

    /// What became of alerts so far.
    pub(crate) fn views(&self) -> Vec<AlertmanagerView> {
        views(self.notifier.counts())
    }

    /// Ends once everything is told, or after some time.
    pub(crate) fn finish(self) -> Told {
        let Ended { lines, untold, counts, saved } = self.notifier.finish(WAIT);
        lines.iter().for_each(|line| say(line));
        Told { untold, views: views(counts), saved }
    }
}

/// What Alertmanagers were told in the end.
pub(crate) struct Told {
    /// What they were not told, a line each.
    pub(crate) untold: Vec<String>,
    /// What became of alerts.
    pub(crate) views: Vec<AlertmanagerView>,
    /// The alerts as data, if they have changed since they were stored.
    #[cfg_attr(not(feature = "amqp"), expect(dead_code, reason = "a controller keeps them"))]
    pub(crate) saved: Option<String>,
}

fn views(counts: Vec<(String, Counts)>) -> Vec<AlertmanagerView> {
    let named = |counts: BTreeMap<&'static str, u64>| counts.into_iter().collect::<Counters>();
    let view = |(address, counts): (String, Counts)| AlertmanagerView {
        address,
        fired: counts.fired,
        resolved: counts.resolved,
        repeated: counts.repeated,
        unseen: counts.unseen,
        merged: counts.merged,
        lost: named(counts.lost),
        problems: named(counts.problems),
        fault: counts.fault,
    };
    counts.into_iter().map(view).collect()
}

/// The user and the password. They are not sent in clear to another machine.
fn credentials(options: &AlertOptions) -> Result<Option<String>, Failure> {
    let Some(file) = &options.alertmanager_credentials else { return Ok(None) };
    let text = secret::password(file)
        .map_err(|error| Failure::usage(format!("alertmanager-credentials: {error}")))?;
    if !text.contains(':') {
        return Err(Failure::usage(format!(
            "alertmanager-credentials: {}: its first line is not USER:PASSWORD",
            file.display()
        )));
    }
    let open = options.alertmanager.iter().find(|address| !address.is_tls() && !address.is_loopback());
    match open {
        Some(address) => Err(Failure::usage(format!(
            "alertmanager: {address}: the password would be sent in clear: use https://"
        ))),
        None => Ok(Some(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_pages_are_checked() {
        assert_eq!(label("severity=a=b"), Ok(("severity".to_owned(), "a=b".to_owned())));
        for wrong in ["severity", "=x", "1a=x", "a-b=x", "__a=x", "node=x", "alertname=x", "severity="] {
            assert!(label(wrong).is_err(), "{wrong}");
        }
        assert_eq!(page("https://x:1/"), Ok("https://x:1".to_owned()));
        assert!(page("x:1").is_err());
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        let start =
            |options: AlertOptions| Alerts::start(&options, None).err().expect("it is refused").to_string();
        let only = AlertOptions { alertmanager_page: Some("http://x".to_owned()), ..AlertOptions::default() };
        assert!(start(only).contains("where Alertmanager is is missing"));
        let address: Address = "http://127.0.0.1:1".parse().expect("an address");
        let twice = AlertOptions { alertmanager: vec![address.clone(), address], ..AlertOptions::default() };
        assert!(start(twice).contains("is there twice"));
        assert!(Alerts::start(&AlertOptions::default(), None).expect("nothing").is_none());
    }
}
