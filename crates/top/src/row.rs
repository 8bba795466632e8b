//! A line of a view, and what Enter shows of it.

use ratatui::style::{Color, Modifier, Style};

/// A line of a view.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ViewLine {
    pub(crate) text: String,
    pub(crate) tone: Tone,
    /// The target that Enter shows.
    pub(crate) target: Option<ViewTarget>,
}

/// The way in which a line stands out. Its text says the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    #[default]
    Plain,
    /// A heading.
    Strong,
    /// A state that needs a look.
    Warning,
    /// A state that is wrong.
    Bad,
}

/// A thing that can be shown alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ViewTarget {
    /// The answer at this place of [`crate::ViewModel::answers`], by its query, node and what a firing pinned.
    Answer(String, Option<String>, String),
    /// A query that others start or that starts others.
    Query(String),
    Story(String),
    Event(String),
    Node(String),
}

impl ViewLine {
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self::new(Tone::Plain, text)
    }

    pub(crate) fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self { text: text.into(), tone, target: None }
    }

    pub(crate) fn to(self, target: ViewTarget) -> Self {
        Self { target: Some(target), ..self }
    }
}

impl Tone {
    pub(crate) fn style(self, is_coloured: bool) -> Style {
        let style = Style::new();
        match self {
            Self::Plain => style,
            Self::Strong => style.add_modifier(Modifier::BOLD),
            Self::Warning if is_coloured => style.fg(Color::Yellow),
            Self::Bad if is_coloured => style.fg(Color::Red).add_modifier(Modifier::BOLD),
            Self::Warning | Self::Bad => style.add_modifier(Modifier::BOLD),
        }
    }
}
