//! The meaning of information elements to a file: the fields of rows that they are, and the names under which they are not read.

use super::super::name::ColumnContent;
use super::element::{ElementRole, NumericElement, ValueTarget};
use super::session::IpfixSession;
use super::template::Element;
use crate::ipfix::{OWN_REVERSE, REVERSE_ENTERPRISE, element};
use flow::{FIELDS, Field, FieldAccessor, InformationElement};

/// Elements that tell nothing of a row: prefix lengths, the version of IP, padding, direction.
const SILENT: &[u16] = &[9, 13, 29, 30, 60, element::PADDING.number, element::BIFLOW_DIRECTION.number];

/// The meaning of an element in a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ElementMapping {
    /// A value that the decoder of records reads, for these columns.
    Value(Vec<ColumnContent>),
    /// A column that no other element is.
    Column(ElementColumn),
    /// An element that tells nothing of a row.
    Nothing,
    /// An element that is not read, under this name.
    Unread(String),
}

/// A column that no other element is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ElementColumn {
    pub(crate) name: ColumnContent,
    pub(crate) reading: ValueEncoding,
}

/// The way in which the octets of a column are read as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueEncoding {
    Number,
    Float,
    Text,
}

impl ElementMapping {
    pub(crate) fn from_element(element: Element, session: &IpfixSession) -> Self {
        let Element { enterprise, number } = element;
        let unread = || match enterprise {
            0 => format!("element {number}"),
            _ => format!("element {enterprise}/{number}"),
        };
        if matches!(enterprise, 0 | REVERSE_ENTERPRISE) && SILENT.contains(&number) {
            return Self::Nothing;
        }
        let role = ElementRole::from_element(element);
        let is_known = |role: &ElementRole| {
            !matches!(role.target, ValueTarget::Number(NumericElement::Ingress | NumericElement::Egress))
        };
        if let Some(role) = role.filter(is_known) {
            let field = |name: &&str| Field::named(name);
            let fields = role.target.columns().iter().filter_map(field);
            return Self::Value(
                fields.map(|field| ColumnContent::Field { field, is_reverse: role.is_reverse }).collect(),
            );
        }
        let column = match enterprise {
            0 | REVERSE_ENTERPRISE => node(element),
            _ => described(element, session),
        };
        column.map_or_else(|| Self::Unread(unread()), Self::Column)
    }
}

/// The name of the observation point.
fn node(element: Element) -> Option<ElementColumn> {
    let is_node = |field: &&Field| {
        let has =
            |own: &InformationElement| (own.enterprise, own.number) == (element.enterprise, element.number);
        matches!(field.value, FieldAccessor::Node) && field.elements.iter().any(has)
    };
    let field = FIELDS.iter().find(is_node)?;
    Some(ElementColumn {
        name: ColumnContent::Field { field, is_reverse: false },
        reading: ValueEncoding::Text,
    })
}

/// Returns the column of the name that the element says it has; for Edison's own losses also that of their numbers.
fn described(element: Element, session: &IpfixSession) -> Option<ElementColumn> {
    let own = || {
        if element.enterprise != InformationElement::DOCUMENTATION {
            return None;
        }
        let plain = element.number & !OWN_REVERSE;
        let has = |field: &&Field| {
            field.elements.iter().any(|own| own.enterprise == element.enterprise && own.number == plain)
        };
        let is_reverse = element.number & OWN_REVERSE != 0;
        FIELDS.iter().find(has).map(|field| ColumnContent::Field { field, is_reverse })
    };
    let name = match session.name(element) {
        Some(name) => ColumnContent::parse(name),
        None => own()?,
    };
    let reading = match &name {
        ColumnContent::Statistic { .. } => ValueEncoding::Float,
        ColumnContent::Field { field, .. }
            if matches!(field.value, FieldAccessor::Unsigned(..) | FieldAccessor::Optional(..)) =>
        {
            ValueEncoding::Number
        }
        _ => return None,
    };
    Some(ElementColumn { name, reading })
}
