//! The places of addresses (`--geo`) and their names (`--resolve`) that are added to answers.

use crate::exit::Failure;
use crate::resolver::Resolver;
use clap::Args;
use clap::builder::BoolishValueParser;
use geo::Databases;
use std::path::PathBuf;
use std::sync::Arc;

const QUESTION: &str = "Question";
const OUTPUT: &str = "Output";

/// Options of commands that answer queries.
#[derive(Clone, Debug, Default, Args)]
pub struct EnrichOptions {
    /// Find the autonomous systems and countries of addresses in this MMDB file (src_asn, dst_country); may be given several times
    #[arg(help_heading = QUESTION, hide_short_help = true, long, value_name = "FILE", env = "EDISON_GEO", hide_env = true)]
    pub geo: Vec<PathBuf>,
    /// Put the names of addresses into answers, by reverse DNS: at most 1,000 addresses, and 2 s for each window's answers
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, env = "EDISON_RESOLVE", hide_env = true, value_parser = BoolishValueParser::new())]
    pub resolve: bool,
}

impl EnrichOptions {
    /// The databases of `--geo`, if it is given.
    pub fn databases(&self) -> Result<Option<Arc<Databases>>, Failure> {
        if self.geo.is_empty() {
            return Ok(None);
        }
        let databases = Databases::open(&self.geo);
        databases.map(Arc::new).map(Some).map_err(|error| Failure::usage(format!("--geo {error}")))
    }

    /// Returns the resolver that `--resolve` asks, if it is given.
    pub fn resolver(&self) -> Option<Arc<Resolver>> {
        self.resolve.then(|| Arc::new(Resolver::new()))
    }

    /// Refuses a query that reads fields of databases where there are none.
    pub fn check(&self, query: &equery::CheckedQuery) -> Result<(), String> {
        match query.needs_geo.is_empty() || !self.geo.is_empty() {
            true => Ok(()),
            false => Err(format!(
                "{}: {} cannot be known without a geographic database: give --geo FILE",
                query.label,
                query.needs_geo.join(", ")
            )),
        }
    }
}
