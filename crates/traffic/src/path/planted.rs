//! Planted paths: what one tap sees of each, merged with the other frames by time.

use super::{PathSimulation, TapFrame};
use crate::loss_truth::LossTruth;
use crate::spec::TrafficSpec;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::RngCore;

/// One tap of one path while it is generated.
#[derive(Clone, Debug)]
pub(crate) struct PlantedPath {
    /// Place in the specification.
    pub(crate) place: usize,
    pub(crate) path: PathSimulation,
    tap: u32,
    /// The number of flows: both directions of each connection.
    pub(crate) members: u64,
    next: Option<TapFrame>,
    /// Times of the first and the last frame seen.
    pub(crate) span: Option<(u64, u64)>,
}

impl PlantedPath {
    /// Returns the losses that the tap must find; `None` before the last frame was seen.
    pub(crate) fn loss(&self) -> Option<LossTruth> {
        self.next.is_none().then(|| self.path.truth().taps[self.tap as usize].loss)
    }

    fn advance(&mut self) {
        self.next = std::iter::from_fn(|| self.path.next_frame()).find(|frame| frame.tap == self.tap);
    }
}

/// The planted paths of a run.
#[derive(Clone, Debug)]
pub(crate) struct PlantedPaths {
    pub(crate) paths: Vec<PlantedPath>,
    /// Time of the next frame; `u64::MAX` without one.
    pub(crate) due_ns: u64,
    /// Frames of all of them together.
    pub(crate) frames: u64,
    /// Frames seen.
    pub(crate) passed: u64,
}

impl PlantedPaths {
    /// `start_ns` gives the time of a share of the run, in parts per million, for this number of the paths'
    /// frames.
    pub(crate) fn new(
        spec: &TrafficSpec,
        seeds: &mut SplitMix64,
        start_ns: impl Fn(u32, u64) -> u64,
    ) -> Self {
        let planted: Vec<_> =
            spec.events().iter().enumerate().filter(|(_, event)| event.kind().is_path()).collect();
        let specs: Vec<_> = planted.iter().map(|(_, event)| event.path(seeds.next_u64())).collect();
        // The number of frames determines when they begin: their fates are drawn first.
        let frames = specs.iter().map(|(path, tap)| PathSimulation::new(path.clone()).frames_at(*tap)).sum();
        let mut paths = Self { paths: Vec::new(), due_ns: u64::MAX, frames, passed: 0 };
        for ((place, event), (path, tap)) in planted.into_iter().zip(specs) {
            let server = [192, 0, 2, 10 + place as u8];
            let mut one = PlantedPath {
                place,
                members: 2 * u64::from(path.connections),
                path: PathSimulation::placed(path, server, start_ns(event.start_ppm(), frames)),
                tap,
                next: None,
                span: None,
            };
            one.advance();
            paths.paths.push(one);
        }
        paths.due_ns = paths.first().map_or(u64::MAX, |(_, due)| due);
        paths
    }

    /// The path whose frame is next, and its time.
    fn first(&self) -> Option<(usize, u64)> {
        let dues =
            self.paths.iter().enumerate().filter_map(|(at, path)| Some((at, path.next.as_ref()?.time_ns)));
        dues.min_by_key(|&(_, due)| due)
    }

    /// The next frame, and the place of its event in the specification.
    pub(crate) fn next_frame(&mut self) -> Option<(usize, TapFrame)> {
        let (at, now) = self.first()?;
        let path = &mut self.paths[at];
        let frame = path.next.take()?;
        path.advance();
        path.span = Some((path.span.map_or(now, |(first, _)| first), now));
        let place = path.place;
        self.passed += 1;
        self.due_ns = self.first().map_or(u64::MAX, |(_, due)| due);
        Some((place, frame))
    }
}
