//! `--web` in a build without the page: it is refused.

use crate::asked::Asked;
use crate::cli::RunOptions;
use crate::exit::Failure;
use controller::{Controller, Output};
use engine::WindowOutlet;
use equery::Chain;
use report::RunReport;
use report::view::AlertmanagerView;
use std::convert::Infallible;
use std::sync::atomic::AtomicBool;
use task::rows::Site;

/// The page of a run, which there is none of.
pub(crate) struct Page(Infallible);

/// The state of a controller, which nobody wants.
#[derive(Debug)]
pub(crate) struct News;

impl News {
    pub(crate) fn of(_: &mut Controller, _: Vec<AlertmanagerView>) -> Self {
        Self
    }

    pub(crate) fn of_queries(_: Chain) -> Self {
        Self
    }
}

/// The destination of what is new.
#[derive(Clone)]
pub(crate) struct PageFeed(Infallible);

impl Page {
    pub(crate) fn start(
        options: &RunOptions,
        _: Vec<(Site, Vec<String>)>,
        _: &Asked,
    ) -> Result<Option<Self>, Failure> {
        match options.web {
            None => Ok(None),
            Some(_) => Err(Failure::usage("--web: this build has no page; build it with the feature web")),
        }
    }

    pub(crate) fn feed(&self, _: bool) -> PageFeed {
        match self.0 {}
    }

    pub(crate) fn end(self, _: &RunReport, _: &AtomicBool) {
        match self.0 {}
    }
}

impl PageFeed {
    pub(crate) fn shown(&self, _: &Output) {
        match self.0 {}
    }

    pub(crate) fn changed(&self, _: News) {
        match self.0 {}
    }

    pub(crate) fn tee(self, _: WindowOutlet) -> WindowOutlet {
        match self.0 {}
    }
}
