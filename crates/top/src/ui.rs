//! The user interface: how the model is looked at, and what keys do.

use crate::chains;
use crate::detail;
use crate::keys::KeyPress;
use crate::model::ViewModel;
use crate::nodes;
use crate::now;
use crate::row::{ViewLine, ViewTarget};

/// A view of the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// The view of what is counted, and of the latest answers.
    #[default]
    Now,
    /// The view of stories, of events and of which query starts which.
    Chains,
    /// The view of how nodes fare.
    Nodes,
}

impl View {
    /// The views in their order.
    pub const ALL: [Self; 3] = [Self::Now, Self::Chains, Self::Nodes];

    /// Returns the name of the view.
    pub fn name(self) -> &'static str {
        match self {
            Self::Now => "Now",
            Self::Chains => "Chains",
            Self::Nodes => "Nodes",
        }
    }

    fn next(self, step: usize) -> Self {
        Self::ALL[(self as usize + step) % Self::ALL.len()]
    }
}

/// The effect of a key on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// The screen stays as it is.
    Nothing,
    /// The view is drawn again: what is shown has changed.
    Redraw,
    /// All of the screen is written again.
    Repair,
    /// The user wants to leave.
    Leave,
}

/// Lines that a page key moves by.
const PAGE: usize = 10;
/// Letters of a filter.
const LONGEST_FILTER: usize = 60;

/// The state of the user interface: how the model is looked at.
#[derive(Clone, Debug, Default)]
pub struct Ui {
    /// The view.
    pub view: View,
    /// True if colours help to tell states apart.
    pub(crate) is_coloured: bool,
    /// True if keys can be read.
    pub(crate) has_keys: bool,
    /// The target that is chosen in each view, and the place at which it was.
    chosen: [(Option<ViewTarget>, usize); View::ALL.len()],
    /// The target that is shown alone, and how many of its lines are above the screen.
    pub(crate) detail: Option<(ViewTarget, usize)>,
    pub(crate) has_help: bool,
    /// The text that all shown lines have.
    pub(crate) filter: String,
    pub(crate) is_typing: bool,
}

impl Ui {
    /// The first view. `is_coloured`: colours help to tell states apart. `has_keys`: keys can be read.
    pub fn new(is_coloured: bool, has_keys: bool) -> Self {
        Self { is_coloured, has_keys, ..Self::default() }
    }

    /// Does what a key is for, and returns its effect on the screen.
    pub fn press(&mut self, key: KeyPress, model: &ViewModel) -> Reaction {
        if key == KeyPress::Again {
            return Reaction::Repair;
        }
        if self.is_typing {
            self.type_in(key);
            return Reaction::Redraw;
        }
        match key {
            KeyPress::Letter('q' | 'Q') => return Reaction::Leave,
            _ if self.has_help => self.has_help = false,
            KeyPress::Letter('?' | 'h') => self.has_help = true,
            KeyPress::Letter('1') => self.show(View::Now),
            KeyPress::Letter('2') => self.show(View::Chains),
            KeyPress::Letter('3') => self.show(View::Nodes),
            KeyPress::Tab => self.show(self.view.next(1)),
            KeyPress::BackTab => self.show(self.view.next(View::ALL.len() - 1)),
            KeyPress::Up | KeyPress::Letter('k') => self.step(model, |at| at.saturating_sub(1)),
            KeyPress::Down | KeyPress::Letter('j') => self.step(model, |at| at.saturating_add(1)),
            KeyPress::PageUp => self.step(model, |at| at.saturating_sub(PAGE)),
            KeyPress::PageDown | KeyPress::Letter(' ') => self.step(model, |at| at.saturating_add(PAGE)),
            KeyPress::Home | KeyPress::Letter('g') => self.step(model, |_| 0),
            KeyPress::End | KeyPress::Letter('G') => self.step(model, |_| usize::MAX),
            KeyPress::Enter if self.detail.is_none() => {
                let at = self.chosen_at(model);
                self.detail =
                    at.and_then(|at| self.targets(model).into_iter().nth(at)).map(|target| (target, 0));
            }
            KeyPress::Enter | KeyPress::Escape | KeyPress::Backspace if self.detail.is_some() => {
                self.detail = None
            }
            KeyPress::Escape if !self.filter.is_empty() => self.filter.clear(),
            KeyPress::Letter('/') if self.detail.is_none() => self.is_typing = true,
            _ => return Reaction::Nothing,
        }
        Reaction::Redraw
    }

    fn type_in(&mut self, key: KeyPress) {
        match key {
            KeyPress::Letter(letter) if self.filter.chars().count() < LONGEST_FILTER => {
                self.filter.push(letter)
            }
            KeyPress::Backspace => drop(self.filter.pop()),
            KeyPress::Enter => self.is_typing = false,
            KeyPress::Escape => {
                self.is_typing = false;
                self.filter.clear();
            }
            _ => {}
        }
    }

    fn show(&mut self, view: View) {
        self.view = view;
        self.detail = None;
    }

    /// Moves what is chosen, or the lines of what is shown alone; drawing keeps these on the screen.
    fn step(&mut self, model: &ViewModel, to: impl Fn(usize) -> usize) {
        if let Some((_, above)) = &mut self.detail {
            *above = to(*above);
            return;
        }
        let targets = self.targets(model);
        let at = to(self.chosen_at(model).unwrap_or(0)).min(targets.len().saturating_sub(1));
        self.chosen[self.view as usize] = (targets.into_iter().nth(at), at);
    }

    /// Returns the targets that can be chosen in the view.
    fn targets(&self, model: &ViewModel) -> Vec<ViewTarget> {
        match self.view {
            View::Now => self.answers(model).map(now::target).collect(),
            _ => self.rows(model, usize::MAX).into_iter().filter_map(|row| row.target).collect(),
        }
    }

    /// The answers that the filter leaves.
    pub(crate) fn answers<'a>(&'a self, model: &'a ViewModel) -> impl Iterator<Item = &'a model::Answer> {
        model.answers().filter(|answer| {
            let node = answer.node.as_deref().unwrap_or_default();
            self.passes(&answer.query) || self.passes(node)
        })
    }

    /// The lines of the view, if it consists of lines, that the filter leaves.
    pub(crate) fn rows(&self, model: &ViewModel, columns: usize) -> Vec<ViewLine> {
        let rows = match self.view {
            View::Now => Vec::new(),
            View::Chains => chains::rows(model),
            View::Nodes => nodes::rows(model, columns),
        };
        rows.into_iter().filter(|row| row.target.is_none() || self.passes(&row.text)).collect()
    }

    fn passes(&self, text: &str) -> bool {
        self.filter.is_empty() || text.to_lowercase().contains(&self.filter.to_lowercase())
    }

    /// The place of what is chosen; `None` where nothing can be.
    pub(crate) fn chosen_at(&self, model: &ViewModel) -> Option<usize> {
        let targets = self.targets(model);
        let (target, at) = &self.chosen[self.view as usize];
        let found = target.as_ref().and_then(|target| targets.iter().position(|own| own == target));
        let last = targets.len().checked_sub(1)?;
        Some(found.unwrap_or((*at).min(last)))
    }

    /// The lines of what is shown alone, if anything is.
    pub(crate) fn detail_rows(&self, model: &ViewModel, columns: usize) -> Option<Vec<ViewLine>> {
        self.detail.as_ref().map(|(target, _)| detail::rows(model, target, columns))
    }
}
