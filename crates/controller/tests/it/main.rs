//! The controller over nodes that are played.

mod nodes;

mod across;
mod derived;
mod dry_run;
mod history;
mod live;
mod order;
mod traffic;
