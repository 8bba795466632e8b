//! The options of sites: where nodes are.

use super::OUTPUT;
use clap::Args;
use model::view::{Coordinates, Site, check_site_name};

/// The sites of nodes, and where these are on the earth.
#[derive(Clone, Debug, Default, Args)]
pub struct SiteOptions {
    /// The site of the node, as Chicago, for the API; NAME=SITE is that of the node of this name
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, value_name = "[NAME=]SITE", env = "EDISON_SITE", hide_env = true, value_parser = site)]
    pub(crate) site: Vec<OfNode<String>>,
    /// The coordinates of the site in degrees: 41.88,-87.63; NAME=41.88,-87.63 are those of the node of this name
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, value_name = "[NAME=]LATITUDE,LONGITUDE", env = "EDISON_AT", hide_env = true, value_parser = coordinates, allow_hyphen_values = true)]
    pub(crate) at: Vec<OfNode<Coordinates>>,
}

/// A value of a node.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OfNode<T> {
    /// The name of the node; `None` where the run has one node.
    node: Option<String>,
    value: T,
}

impl SiteOptions {
    /// Returns whether a site is named or placed.
    pub(crate) fn is_given(&self) -> bool {
        !self.site.is_empty() || !self.at.is_empty()
    }

    /// Returns the site of a node of a run; `None` where nothing says it.
    pub(crate) fn site_of(&self, node: &str) -> Option<Site> {
        let site = Site { name: value_of(&self.site, node).cloned(), at: value_of(&self.at, node).copied() };
        (site != Site::default()).then_some(site)
    }

    /// Returns what is wrong with the options in a run with these nodes, a line each.
    pub(crate) fn refusals(&self, nodes: &[&str]) -> Vec<String> {
        let mut lines = wrong_nodes("site", &self.site, nodes);
        lines.extend(wrong_nodes("at", &self.at, nodes));
        lines
    }
}

fn value_of<'a, T>(values: &'a [OfNode<T>], node: &str) -> Option<&'a T> {
    let is_its = |one: &&OfNode<T>| one.node.as_deref().is_none_or(|named| named == node);
    values.iter().find(is_its).map(|one| &one.value)
}

/// Returns a line for each value that is of no node, or of one that has another one already.
fn wrong_nodes<T>(option: &str, values: &[OfNode<T>], nodes: &[&str]) -> Vec<String> {
    let wrong = values.iter().enumerate().filter_map(|(number, OfNode { node, .. })| {
        let is_first = values[..number].iter().all(|other| other.node != *node);
        let names = nodes.join(", ");
        match node.as_deref() {
            None if nodes.len() > 1 => Some(format!(
                "--{option}: there are several nodes: say of which, as --{option} {}=…",
                nodes[0]
            )),
            Some(name) if !nodes.contains(&name) => {
                Some(format!("--{option} {name}=…: no node has this name; the run has {names}"))
            }
            _ if !is_first || (node.is_some() && values.iter().any(|other| other.node.is_none())) => {
                Some(format!("--{option}: given twice for the node {}", node.as_deref().unwrap_or(&names)))
            }
            _ => None,
        }
    });
    wrong.collect()
}

/// Splits `NAME=VALUE`; a text without a name is a value.
fn of_node(text: &str) -> (Option<String>, &str) {
    match text.split_once('=') {
        Some((node, value)) => (Some(node.to_owned()), value),
        None => (None, text),
    }
}

fn site(text: &str) -> Result<OfNode<String>, String> {
    let (node, value) = of_node(text);
    check_site_name(value)?;
    Ok(OfNode { node, value: value.to_owned() })
}

fn coordinates(text: &str) -> Result<OfNode<Coordinates>, String> {
    let (node, value) = of_node(text);
    Ok(OfNode { node, value: value.parse()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(sites: &[&str], places: &[&str]) -> SiteOptions {
        SiteOptions {
            site: sites.iter().map(|text| site(text).expect("a site")).collect(),
            at: places.iter().map(|text| coordinates(text).expect("a place")).collect(),
        }
    }

    #[test]
    fn each_node_has_its_site() {
        let one = options(&["Chicago, IL"], &["41.88,-87.63"]);
        assert_eq!(one.refusals(&["host"]), [""; 0]);
        let at = Coordinates { latitude: 41.88, longitude: -87.63 };
        let chicago = Site { name: Some("Chicago, IL".to_owned()), at: Some(at) };
        assert_eq!(one.site_of("host"), Some(chicago));
        let two = options(&["tx=Chicago"], &["rx=-33.86,151.2"]);
        assert_eq!(two.refusals(&["tx", "rx"]), [""; 0]);
        assert_eq!(two.site_of("tx"), Some(Site { name: Some("Chicago".to_owned()), at: None }));
        let sydney = Coordinates { latitude: -33.86, longitude: 151.2 };
        assert_eq!(two.site_of("rx"), Some(Site { name: None, at: Some(sydney) }));
        assert_eq!((two.site_of("other"), options(&[], &[]).site_of("tx")), (None, None));
    }

    #[test]
    fn a_site_of_no_node_and_two_of_one_are_refused() {
        for (sites, nodes, expected) in [
            (
                &["Chicago"][..],
                &["tx", "rx"][..],
                "--site: there are several nodes: say of which, as --site tx=…",
            ),
            (&["x=Chicago"], &["tx", "rx"], "--site x=…: no node has this name; the run has tx, rx"),
            (&["tx=a", "tx=b"], &["tx", "rx"], "--site: given twice for the node tx"),
            (&["a", "b"], &["tx"], "--site: given twice for the node tx"),
            (&["tx=a", "b"], &["tx"], "--site: given twice for the node tx"),
        ] {
            assert_eq!(options(sites, &[]).refusals(nodes), [expected]);
        }
        assert!(site("tx=").is_err() && coordinates("tx=NaN,0").is_err() && coordinates("=").is_err());
    }
}
