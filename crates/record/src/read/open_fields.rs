//! Which fields rows leave open.

use super::address::Family;
use super::block::Wanted;
use super::columns::Columns;
use super::direction::Direction;
use flow::{FIELDS, NULL, OpenFields};

/// The columns in which a row may leave its field open.
pub(crate) struct OpenColumns<'a> {
    direction: &'a Direction<'a>,
    numbers: Vec<(&'static str, &'a [u64])>,
    /// For sources and for destinations.
    addresses: [bool; 2],
}

impl<'a> OpenColumns<'a> {
    /// Finds those of one direction of rows, with these values; none where they are not wanted.
    pub(crate) fn of(direction: &'a Direction<'a>, values: &'a [Vec<u64>], wanted: &Wanted) -> Self {
        if !wanted.open_fields {
            return Self { direction, numbers: Vec::new(), addresses: [false; 2] };
        }
        let is_member = |name: &str| wanted.members.contains(&name);
        let ends = [("src_addr", direction.source), ("dst_addr", direction.destination)];
        let addresses = ends.map(|(name, addresses)| is_member(name) && !addresses.are_all_there());
        let members = [
            ("src_port", direction.source_port),
            ("dst_port", direction.destination_port),
            ("protocol", direction.protocol),
            ("ip_tos", direction.tos),
        ];
        let members = members.into_iter().filter(|(name, _)| is_member(name));
        let columns = wanted.columns.iter().zip(values).filter_map(|(column, values)| {
            Some((FIELDS.iter().find(|field| field.row == *column)?.name, values.as_slice()))
        });
        let may_lack = |values: &[u64]| values.is_empty() || values.contains(&NULL);
        let numbers = members.chain(columns).filter(|(_, values)| may_lack(values)).collect();
        Self { direction, numbers, addresses }
    }

    /// Returns what each of these rows leaves open; nothing if none leaves any field open.
    pub(crate) fn each(&self, rows: impl Iterator<Item = usize>) -> Vec<OpenFields> {
        if self.numbers.is_empty() && self.addresses == [false; 2] {
            return Vec::new();
        }
        let open: Vec<OpenFields> = rows.map(|row| self.of_row(row)).collect();
        if open.iter().all(|open| open.is_empty()) { Vec::new() } else { open }
    }

    fn of_row(&self, row: usize) -> OpenFields {
        let mut open = OpenFields::default();
        let lacking = self.numbers.iter().filter(|(_, values)| Columns::number(values, row) == NULL);
        lacking.for_each(|(name, _)| open.add(name));
        let ends = [("src_addr", self.direction.source), ("dst_addr", self.direction.destination)];
        for ((name, addresses), may_lack) in ends.into_iter().zip(self.addresses) {
            if may_lack && addresses.family(row) == Family::None {
                open.add(name);
            }
        }
        let protocol = Columns::number(self.direction.protocol, row);
        open.of_protocol(u8::try_from(protocol).ok())
    }
}
