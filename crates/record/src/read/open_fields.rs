//! The fields that rows leave open.

use super::address::AddressFamily;
use super::block::ReadProjection;
use super::columns::{InputColumns, UNTOLD};
use super::direction::Direction;
use super::schema::SAMPLING_RATE;
use flow::{FIELDS, NULL, OpenFields};

/// The fields of links, which packets may not have.
const OF_LINKS: [&str; 3] = ["vlan", "smac", "dmac"];

/// The columns in which a row may leave its field open.
pub(crate) struct OpenColumns<'a> {
    direction: &'a Direction<'a>,
    /// Columns of numbers, each with its field, and the number of rows that leave it open.
    numbers: Vec<(OpenFields, &'a [u64], u64)>,
    /// True for sources, and for destinations, where a row may have none.
    addresses: [bool; 2],
    /// The number of packets that each one of a row stands for; empty if all rows are of all packets.
    sampling_rate: &'a [u64],
}

impl<'a> OpenColumns<'a> {
    /// Finds the columns of one direction of rows, with these values; none where they are not wanted.
    pub(crate) fn new(direction: &'a Direction<'a>, values: &'a [Vec<u64>], wanted: &ReadProjection) -> Self {
        if !wanted.open_fields {
            return Self { direction, numbers: Vec::new(), addresses: [false; 2], sampling_rate: &[] };
        }
        let sampling_rate = direction.sampling_rate;
        let sampling_rate = if sampling_rate.iter().all(|rate| *rate == 1) { &[] } else { sampling_rate };
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
        // Null of these is a value: packets without a tag, and links without addresses.
        let open_number = |name: &str| if OF_LINKS.contains(&name) { UNTOLD } else { NULL };
        // Nulls of the others, as of losses, are no zeros in rows: no row is looked at for their sake.
        let numbers = members
            .chain(columns)
            .map(|(name, values)| (OpenFields::from_field(name), values, open_number(name)));
        let may_lack = |values: &[u64], open: u64| values.is_empty() || values.contains(&open);
        let numbers =
            numbers.filter(|(field, values, open)| !field.is_empty() && may_lack(values, *open)).collect();
        Self { direction, numbers, addresses, sampling_rate }
    }

    /// Returns what each of these rows leaves open; nothing if none leaves any field open.
    pub(crate) fn each(&self, rows: impl Iterator<Item = usize>) -> Vec<OpenFields> {
        if self.numbers.is_empty() && self.addresses == [false; 2] && self.sampling_rate.is_empty() {
            return Vec::new();
        }
        let open: Vec<OpenFields> = rows.map(|row| self.get_row(row)).collect();
        if open.iter().all(|open| open.is_empty()) { Vec::new() } else { open }
    }

    fn get_row(&self, row: usize) -> OpenFields {
        let mut open = OpenFields::default();
        let lacking =
            self.numbers.iter().filter(|(_, values, open)| values.get(row).is_none_or(|value| value == open));
        lacking.for_each(|(field, ..)| open.add(*field));
        const ENDS: [OpenFields; 2] =
            [OpenFields::from_field("src_addr"), OpenFields::from_field("dst_addr")];
        let addresses = [self.direction.source, self.direction.destination].into_iter().zip(self.addresses);
        for (field, (addresses, may_lack)) in ENDS.into_iter().zip(addresses) {
            if may_lack && addresses.family(row) == AddressFamily::None {
                open.add(field);
            }
        }
        if self.sampling_rate.get(row).is_some_and(|rate| *rate != 1) {
            open.add(const { OpenFields::from_field(SAMPLING_RATE) });
        }
        let protocol = InputColumns::number(self.direction.protocol, row);
        open.limit_to_protocol(u8::try_from(protocol).ok())
    }
}
