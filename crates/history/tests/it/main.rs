//! Questions to stores of window rows.

mod stored;

mod hostile;
mod levels;
mod model;
mod times;
