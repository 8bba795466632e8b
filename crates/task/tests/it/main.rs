//! Tasks, their answers and plans.

mod support;

mod answers;
mod changes;
mod forecasts;
mod named_flows;
mod planner;
mod promises;
mod reversible;
mod row_tasks;
mod shared;
mod sketched;
mod windows;
