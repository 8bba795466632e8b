//! Tables against models.

mod growth;
mod model;
mod shares;
mod statistic;
