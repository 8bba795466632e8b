//! Archives as a controller keeps and reads them.

mod acknowledgements;
mod captures;
mod files;
mod model;
mod silences;
