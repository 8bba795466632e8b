//! Options of `edison query` that ask another engine.

use clap::Args;
use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser;
use equery::Dialect;
use std::path::PathBuf;
use std::time::Duration;

const ENGINE: &str = "Another engine";
/// The longest time that an engine may take where the options do not say it.
const DEFAULT_TIME: Duration = Duration::from_secs(600);

/// Options of `edison query` that ask another engine.
#[derive(Clone, Debug, Args)]
pub(crate) struct EngineOptions {
    /// Let another engine answer from the files of --store
    #[arg(help_heading = ENGINE, long, value_name = "NAME", value_parser = dialect())]
    pub(crate) engine: Option<Dialect>,
    /// Where it is: http://HOST:8123 of ClickHouse; spark://HOST:7077 of Spark, which otherwise runs on this machine
    #[arg(help_heading = ENGINE, long, value_name = "URL", requires = "engine")]
    pub(crate) engine_url: Option<String>,
    /// Its program, of DuckDB and Spark [default: duckdb or spark-sql, as PATH has them]
    #[arg(help_heading = ENGINE, long, value_name = "PATH", requires = "engine")]
    pub(crate) engine_program: Option<PathBuf>,
    /// How long it may take for a question [default: 10min]
    #[arg(help_heading = ENGINE, long, value_name = "TIME", value_parser = notation::duration, requires = "engine")]
    pub(crate) engine_time: Option<Duration>,
    /// A file whose first line is the user at ClickHouse and whose second is the password; or both in EDISON_ENGINE_USER and
    /// EDISON_ENGINE_PASSWORD
    #[arg(help_heading = ENGINE, long, value_name = "FILE", requires = "engine")]
    pub(crate) engine_login: Option<PathBuf>,
}

impl EngineOptions {
    /// Returns the longest time that an engine may take for a question.
    pub(crate) fn time(&self) -> Duration {
        self.engine_time.unwrap_or(DEFAULT_TIME)
    }
}

/// Reads the name of an engine.
pub(crate) fn dialect() -> impl TypedValueParser<Value = Dialect> {
    let names = PossibleValuesParser::new(Dialect::ALL.map(Dialect::name));
    // One of these is always found: the parser before has refused all others.
    names.map(|name| Dialect::named(&name).unwrap_or_default())
}
