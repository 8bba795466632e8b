//! Options of Kafka.

use super::OUTPUT;
use crate::exit::Failure;
use clap::Args;
use clap::builder::BoolishValueParser;
use kafka::{Servers, Topics};
use std::time::Duration;

/// Where Kafka is, and the names of its topics: options of `run`, and keys of a controller's file.
#[derive(Clone, Debug, Default, Args)]
pub struct ClusterOptions {
    /// Send the answers of windows and the events to Kafka, at least once, as JSON: to the topics edison.answers and edison.events. Several brokers of
    /// a cluster are separated by commas
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, value_name = "HOST:PORT,…", env = "EDISON_KAFKA", hide_env = true)]
    pub kafka: Option<Servers>,
    /// How the names of the topics begin
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, value_name = "PREFIX", env = "EDISON_KAFKA_TOPICS", hide_env = true, requires = "kafka", default_value = "edison")]
    pub kafka_topics: Topics,
}

/// What a run sends to Kafka.
#[derive(Clone, Debug, Default, Args)]
pub struct KafkaOptions {
    #[command(flatten)]
    pub(crate) cluster: ClusterOptions,
    /// Send the window rows of --store too, to the topic edison.rows
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, env = "EDISON_KAFKA_ROWS", hide_env = true, requires = "kafka", value_parser = BoolishValueParser::new())]
    pub(crate) kafka_rows: bool,
    /// How long the end of the run waits until Kafka has everything
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, value_name = "TIME", env = "EDISON_KAFKA_WAIT", hide_env = true, requires = "kafka", default_value = "10s", value_parser = notation::duration)]
    pub(crate) kafka_wait: Duration,
}

impl KafkaOptions {
    /// Returns where Kafka is; `None` if nothing is sent.
    pub(crate) fn servers(&self) -> Result<Option<&Servers>, Failure> {
        match (&self.cluster.kafka, self.kafka_rows) {
            // A file of settings may say so.
            (None, true) => Err(Failure::usage(
                "--kafka-rows: the address of Kafka is missing: give --kafka HOST:PORT too",
            )),
            (servers, _) => Ok(servers.as_ref()),
        }
    }

    /// Returns true if answers of windows are sent.
    pub(crate) fn is_asked(&self) -> bool {
        self.cluster.kafka.is_some()
    }
}
