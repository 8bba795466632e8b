//! A build without Kafka: nothing is sent there.

use crate::cli::RunOptions;
use crate::exit::Failure;
use crate::reporting::Verdict;
use clap::Args;
use controller::Output;
use engine::WindowOutlet;
use report::Answer;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// No options.
#[derive(Clone, Debug, Args)]
pub(crate) struct KafkaOptions {}

impl KafkaOptions {
    pub(crate) fn is_asked(&self) -> bool {
        false
    }
}

/// What a run sends to Kafka, which is nothing.
pub(crate) struct Delivery(Infallible);

/// The destination of answers and events, which there is none of.
#[derive(Clone)]
pub(crate) struct KafkaFeed(Infallible);

impl Delivery {
    pub(crate) fn start(
        _: &RunOptions,
        _: bool,
        _: bool,
        _: &Arc<AtomicBool>,
    ) -> Result<Option<Self>, Failure> {
        Ok(None)
    }

    #[cfg(feature = "amqp")]
    pub(crate) fn start_rows(_: &RunOptions) -> Result<Option<Self>, Failure> {
        Ok(None)
    }

    pub(crate) fn feed(&self) -> Option<KafkaFeed> {
        match self.0 {}
    }

    pub(crate) fn finish(self, _: &mut Verdict) {
        match self.0 {}
    }
}

impl KafkaFeed {
    pub(crate) fn shown(&self, _: &Output) {
        match self.0 {}
    }

    pub(crate) fn answers(&self, _: &[Answer]) {
        match self.0 {}
    }

    pub(crate) fn tee(self, _: WindowOutlet) -> WindowOutlet {
        match self.0 {}
    }
}

#[cfg(feature = "amqp")]
pub(crate) use of_controller::{Hand, KafkaKeys};

#[cfg(feature = "amqp")]
mod of_controller {
    use super::{Failure, Infallible};
    use crate::deployment::Settings;
    use archive::Keep;
    use web::Hub;
    use web::view::Delivered;

    /// The keys of a controller's file: they are refused.
    #[derive(Clone, Debug, Default)]
    pub(crate) struct KafkaKeys;

    impl KafkaKeys {
        pub(crate) fn take(settings: &mut Settings) -> Result<Self, Failure> {
            let keys = ["kafka", "kafka-topics"];
            for key in keys {
                if settings.text(key)?.is_some() {
                    return Err(settings.wrong(format!(
                        "'{key}': this build has no Kafka; build it with the feature kafka"
                    )));
                }
            }
            Ok(Self)
        }

        pub(crate) fn lacks(&self, _: &Keep) -> Option<String> {
            None
        }
    }

    /// The delivery of a controller, which there is none of.
    pub(crate) struct Hand(Infallible);

    impl Hand {
        pub(crate) fn start(_: &KafkaKeys, _: &Hub) -> Result<Option<Self>, Failure> {
            Ok(None)
        }

        pub(crate) fn delivered(&self) -> Delivered {
            match self.0 {}
        }

        pub(crate) fn stored(&self) {
            match self.0 {}
        }

        pub(crate) fn lines(&self) -> Vec<String> {
            match self.0 {}
        }

        pub(crate) fn end(self) {
            match self.0 {}
        }
    }
}
