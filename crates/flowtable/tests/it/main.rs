//! Tables against models.

mod growth;
mod header_values;
mod model;
mod shares;
mod statistic;
