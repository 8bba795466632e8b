//! Values with names: `let` and `--set`.

use crate::ast::{Definition, Expr, ExprNode};
use crate::constant::SignedLiteral;
use crate::diagnostic::Diagnostics;
use crate::fields;
use crate::lexer::{Placed, Token, tokens};
use crate::literal::Literal;
use crate::names::is_identifier;
use std::collections::{HashMap, HashSet};

/// The meaning of a name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum VariableValue {
    Constant(SignedLiteral),
    /// A text without quotes.
    Bare(String),
}

/// Literals by the names of their variables, for places where only a literal may stand (`limit N`).
pub(crate) type Constants = HashMap<String, Literal>;

/// The constants that the tokens of a text define, wherever they are used, and those set from outside, which win.
pub(crate) fn constants(tokens: &[Placed<'_>], set: &[(String, String)]) -> Constants {
    let mut constants = Constants::new();
    for window in tokens.windows(4) {
        let [keyword, name, sign, value] = window else { continue };
        if let (Token::Word(keyword), Token::Word(name), Token::Symbol("="), Token::Literal(value)) =
            (&keyword.token, &name.token, &sign.token, &value.token)
            && keyword.eq_ignore_ascii_case("let")
        {
            constants.entry((*name).to_owned()).or_insert_with(|| value.clone());
        }
    }
    for (name, value) in set {
        match parse_literal(value) {
            VariableValue::Constant(SignedLiteral { literal, is_negative: false }) => {
                constants.insert(name.clone(), literal)
            }
            _ => constants.remove(name),
        };
    }
    constants
}

impl VariableValue {
    /// The text that it is; `None` of a number.
    pub(crate) fn text(&self) -> Option<String> {
        match self {
            Self::Constant(SignedLiteral { literal: Literal::Text(text), .. }) | Self::Bare(text) => {
                Some(text.clone())
            }
            Self::Constant(_) => None,
        }
    }

    /// Bytes that it has beyond those of a number.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Constant(SignedLiteral { literal: Literal::Text(text), .. }) | Self::Bare(text) => {
                text.len()
            }
            Self::Constant(_) => 0,
        }
    }
}

/// The variables of a text by name.
#[derive(Debug, Default)]
pub(crate) struct Variables {
    meanings: HashMap<String, VariableValue>,
    /// The names of the variables, in the order in which they are defined.
    names: Vec<String>,
}

impl Variables {
    /// Collects the variables of the text, and those set from outside, which win.
    pub(crate) fn new(
        definitions: &[Definition],
        set: &[(String, String)],
        diagnostics: &mut Diagnostics<'_>,
    ) -> Self {
        let mut variables = Self::default();
        for Definition { name, value } in definitions {
            if variables.meanings.contains_key(&name.value) {
                let message = format!("'{}' is defined for the second time", name.value);
                diagnostics.error_with_help(
                    "duplicate_variable",
                    &name.span,
                    message,
                    "remove one of the definitions",
                );
            } else if fields::find(&name.value).is_some() {
                let message = format!("'{}' is a field and cannot be a variable", name.value);
                diagnostics.error_with_help("variable_is_field", &name.span, message, "choose another name");
            } else {
                let meaning = variables.meaning(value, diagnostics);
                variables.define(&name.value, meaning);
            }
        }
        for (name, value) in set {
            if !is_identifier(name) || fields::find(name).is_some() {
                let message = format!("--set {name}={value}: '{name}' cannot be the name of a variable");
                diagnostics.error_with_help("variable_name", &(0..0), message, "choose another name");
            } else {
                variables.define(name, parse_literal(value));
            }
        }
        variables
    }

    fn define(&mut self, name: &str, meaning: VariableValue) {
        if self.meanings.insert(name.to_owned(), meaning).is_none() {
            self.names.push(name.to_owned());
        }
    }

    fn meaning(&self, value: &ExprNode, diagnostics: &mut Diagnostics<'_>) -> VariableValue {
        match &*value.value {
            Expr::Literal(literal) => VariableValue::Constant(SignedLiteral::new(literal.clone())),
            Expr::Name(name) => {
                self.meanings.get(name).cloned().unwrap_or_else(|| VariableValue::Bare(name.clone()))
            }
            Expr::Negative(of) => match &*of.value {
                Expr::Literal(literal) => {
                    VariableValue::Constant(SignedLiteral { literal: literal.clone(), is_negative: true })
                }
                _ => Self::no_value(value, diagnostics),
            },
            _ => Self::no_value(value, diagnostics),
        }
    }

    fn no_value(value: &ExprNode, diagnostics: &mut Diagnostics<'_>) -> VariableValue {
        diagnostics.error(
            "variable_value",
            &value.span,
            "the value of a variable is a literal, such as 10K or 10.0.0.1",
        );
        VariableValue::Bare(value.value.to_string())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&VariableValue> {
        self.meanings.get(name)
    }

    /// Returns what defines the variables whose names stand in a text, as text that means the same before it. A name that means something
    /// else there brings one too many.
    pub(crate) fn definitions_in(&self, text: &str) -> Vec<String> {
        let is_of_name = |letter: char| letter.is_alphanumeric() || letter == '_';
        let words: HashSet<&str> = text.split(|letter| !is_of_name(letter)).collect();
        let named: Vec<&String> = self.names.iter().filter(|name| words.contains(name.as_str())).collect();
        let written = |is_bare: bool| {
            let of = move |name: &String| match self.meanings.get(name)? {
                VariableValue::Bare(text) => is_bare.then(|| format!("let {name} = {text};")),
                VariableValue::Constant(constant) => {
                    (!is_bare).then(|| format!("let {name} = {};", constant.text()))
                }
            };
            named.iter().filter_map(move |name| of(name)).collect::<Vec<_>>()
        };
        // A text without quotes would mean a variable that is defined before it.
        [written(true), written(false)].concat()
    }
}

/// Reads one literal, with or without a sign, or a text.
fn parse_literal(text: &str) -> VariableValue {
    let mut ignored = Diagnostics::new(text);
    let tokens = tokens(text, &mut ignored);
    let tokens: Vec<_> = tokens.iter().map(|placed| &placed.token).collect();
    match (ignored.errors(), &tokens[..]) {
        (0, [Token::Literal(literal), Token::End]) => {
            VariableValue::Constant(SignedLiteral::new(literal.clone()))
        }
        (0, [Token::Symbol("-"), Token::Literal(literal), Token::End]) => {
            VariableValue::Constant(SignedLiteral { literal: literal.clone(), is_negative: true })
        }
        (0, [Token::Word(word), Token::End]) => VariableValue::Bare((*word).to_owned()),
        _ => VariableValue::Constant(SignedLiteral::new(Literal::Text(text.to_owned()))),
    }
}
