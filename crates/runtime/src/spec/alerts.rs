//! The options of Alertmanagers, in `run` and in the file of a controller.

use super::OUTPUT;
use alertmanager::AlertmanagerUrl;
use clap::Args;
use std::path::PathBuf;

/// Where Alertmanagers are, and what alerts say beside the event: options of `run`, and keys of a controller's file.
#[derive(Clone, Debug, Default, Args)]
pub struct AlertOptions {
    /// Tell this Alertmanager what fires and what is resolved: http://HOST:PORT. May be given several times, for a cluster
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, value_name = "URL", env = "EDISON_ALERTMANAGER", hide_env = true, value_delimiter = ',')]
    pub(crate) alertmanager: Vec<AlertmanagerUrl>,
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
fn label(text: &str) -> Result<(String, String), String> {
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
fn page(text: &str) -> Result<String, String> {
    // It is of the same form.
    let address: AlertmanagerUrl =
        text.parse().map_err(|_| format!("'{text}' is no address of a page, as https://HOST:PORT"))?;
    Ok(address.to_string())
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
}
