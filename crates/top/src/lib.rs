//! Shows what a run or a controller does at this moment, on a terminal: `edison top`, and the live view of `edison run`.
//!
//! A [`ViewModel`] is what is shown: the state as the API has it, the latest answers, events and stories. Who has it fills it, a run from its
//! own windows, `edison top` from an API. A [`Ui`] is how it is looked at: which view, what is chosen, what is filtered; keys change it,
//! and [`draw()`] draws both into a buffer of any size. A [`Screen`] is the terminal that they are shown on, which is left as it was found.
//!
//! ```
//! use ratatui::{buffer::Buffer, layout::Rect};
//! use top::{ViewModel, StatusOrigin, Ui, draw};
//!
//! let mut model = ViewModel::new(StatusOrigin::Api { address: "http://127.0.0.1:8080".to_owned() });
//! model.status.sources = vec!["eth0".to_owned()];
//! let mut buffer = Buffer::empty(Rect::new(0, 0, 80, 24));
//! draw(&mut Ui::default(), &model, &mut buffer);
//! let line = |row| (0..80).map(|column| buffer[(column, row)].symbol()).collect::<String>();
//! assert!(line(1).starts_with("source    eth0, a run at http://127.0.0.1:8080"), "{}", line(1));
//! ```
#![forbid(unsafe_code)]

mod chains;
mod compact;
mod detail;
mod draw;
mod keys;
mod model;
mod nodes;
mod now;
mod rates;
mod row;
mod screen;
mod sentence;
#[cfg(test)]
mod tests;
mod tty;
mod ui;

pub use draw::draw;
pub use keys::{KeyPress, KeyReader};
pub use model::{ApiConnection, FirstWindow, LiveCounts, StatusOrigin, StoryLine, ViewModel};
pub use screen::{GiveBack, Screen, Wish};
pub use tty::{can_draw, paper};
pub use ui::{Reaction, Ui, View};
