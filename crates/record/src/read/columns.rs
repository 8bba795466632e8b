//! The columns of some rows as they are read, before they are keys and columns of a family.

use super::AddressColumn;
use super::block::ReadProjection;
use flow::NULL;
use std::net::IpAddr;
use std::sync::Arc;

/// Rows that are read together: their columns stay in L2.
pub(crate) const ROWS: usize = 4096;

/// The number of a node that a row does not tell.
pub(crate) const NO_NODE: u32 = u32::MAX;
/// The number of a VLAN or of a MAC address that a row does not tell, where those that tell it may have none.
pub(crate) const UNTOLD: u64 = NULL - 1;
/// The most observation points of a file: each block is of one.
const MOST_NODES: usize = 1024;

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowCell<'a> {
    None,
    Number(u64),
    Address(IpAddr),
    Node(&'a str),
}

/// A member of the key, or what else rows have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ColumnSlot {
    Source,
    Destination,
    SourcePort,
    DestinationPort,
    Protocol,
    Vlan,
    Tos,
    /// The family of the addresses, 4 or 6.
    IpVersion,
    /// The number of packets that each counted one stands for.
    SamplingRate,
    /// The number of a column in [`ReadProjection::columns`].
    Value(usize),
    /// The number of a column in [`ReadProjection::columns`], for the other direction.
    Reverse(usize),
    /// Tells which rows have another direction, by a number that is not 0: that of its packets, or of its bytes where no packets are told.
    HasReverse,
    Node,
    /// A place for values that are read, and not kept.
    Nowhere,
}

/// Columns of some rows; those that are not wanted are empty.
#[derive(Debug, Default)]
pub(crate) struct InputColumns {
    pub(crate) rows: usize,
    pub(crate) source: AddressColumn,
    pub(crate) destination: AddressColumn,
    pub(crate) source_port: Vec<u64>,
    pub(crate) destination_port: Vec<u64>,
    pub(crate) protocol: Vec<u64>,
    pub(crate) vlan: Vec<u64>,
    pub(crate) tos: Vec<u64>,
    pub(crate) ip_version: Vec<u64>,
    /// The sampling rate of each row; other than 1 where a row is of a sample.
    pub(crate) sampling_rate: Vec<u64>,
    /// The values, in the order of [`ReadProjection::columns`]; a column that the file lacks is empty.
    pub(crate) values: Vec<Vec<u64>>,
    pub(crate) reverse: Vec<Vec<u64>>,
    pub(crate) has_reverse: Vec<u64>,
    /// The number of each row's node in `nodes`; empty where all are of the first, or none is known.
    pub(crate) node: Vec<u32>,
    pub(crate) nodes: Vec<Arc<str>>,
}

impl InputColumns {
    pub(crate) fn new(wanted: &ReadProjection) -> Self {
        let values = vec![Vec::new(); wanted.columns.len()];
        Self { reverse: values.clone(), values, ..Self::default() }
    }

    /// The column of numbers of a place that is one.
    pub(crate) fn numbers_mut(&mut self, place: &ColumnSlot) -> Option<&mut Vec<u64>> {
        match place {
            ColumnSlot::SourcePort => Some(&mut self.source_port),
            ColumnSlot::DestinationPort => Some(&mut self.destination_port),
            ColumnSlot::Protocol => Some(&mut self.protocol),
            ColumnSlot::Vlan => Some(&mut self.vlan),
            ColumnSlot::Tos => Some(&mut self.tos),
            ColumnSlot::IpVersion => Some(&mut self.ip_version),
            ColumnSlot::SamplingRate => Some(&mut self.sampling_rate),
            ColumnSlot::Value(at) => self.values.get_mut(*at),
            ColumnSlot::Reverse(at) => self.reverse.get_mut(*at),
            ColumnSlot::HasReverse => Some(&mut self.has_reverse),
            _ => None,
        }
    }

    /// The column of addresses of a place that is one.
    pub(crate) fn addresses_mut(&mut self, place: &ColumnSlot) -> Option<&mut AddressColumn> {
        match place {
            ColumnSlot::Source => Some(&mut self.source),
            ColumnSlot::Destination => Some(&mut self.destination),
            _ => None,
        }
    }

    /// Removes all rows and keeps the memory and the nodes.
    pub(crate) fn clear(&mut self) {
        let Self { rows, source, destination, source_port, destination_port, protocol, vlan, tos, .. } = self;
        let Self { ip_version, sampling_rate, values, reverse, has_reverse, node, .. } = self;
        *rows = 0;
        source.clear();
        destination.clear();
        let members = [source_port, destination_port, protocol, vlan, tos, ip_version];
        let numbers = members.into_iter().chain([sampling_rate, has_reverse]);
        numbers.chain(values).chain(reverse).for_each(Vec::clear);
        node.clear();
    }

    /// The number of a node, which is added if it is new.
    ///
    /// # Errors
    /// If there are too many nodes.
    pub(crate) fn node_number(&mut self, name: &str) -> Result<u32, String> {
        // Files have few, and runs of rows of one.
        let known = self.nodes.iter().rposition(|known| &**known == name);
        if known.is_none() && self.nodes.len() == MOST_NODES {
            return Err(format!("the rows are of more than {MOST_NODES} observation points"));
        }
        Ok(known.unwrap_or_else(|| {
            self.nodes.push(name.into());
            self.nodes.len() - 1
        }) as u32)
    }

    /// Adds a value of the row that is being filled.
    ///
    /// # Errors
    /// If the value is of a node, and there are too many nodes.
    pub(crate) fn put(&mut self, place: &ColumnSlot, cell: RowCell<'_>) -> Result<(), String> {
        if *place == ColumnSlot::Node {
            let number = match cell {
                RowCell::Node(name) => self.node_number(name)?,
                _ => NO_NODE,
            };
            self.node.push(number);
        } else if let Some(numbers) = self.numbers_mut(place) {
            numbers.push(if let RowCell::Number(number) = cell { number } else { NULL });
        } else if let Some(addresses) = self.addresses_mut(place) {
            addresses.push(if let RowCell::Address(address) = cell { Some(address) } else { None });
        }
        Ok(())
    }

    /// Removes what was put of a row that could not be filled.
    pub(crate) fn remove_unfinished(&mut self) {
        let Self { rows, source, destination, source_port, destination_port, protocol, vlan, tos, .. } = self;
        let Self { ip_version, sampling_rate, values, reverse, has_reverse, node, .. } = self;
        source.truncate(*rows);
        destination.truncate(*rows);
        let members = [source_port, destination_port, protocol, vlan, tos, ip_version];
        let numbers = members.into_iter().chain([sampling_rate, has_reverse]);
        numbers.chain(values).chain(reverse).for_each(|numbers| numbers.truncate(*rows));
        node.truncate(*rows);
    }

    /// The value of a row in a column that may be empty.
    #[inline(always)]
    pub(crate) fn number(values: &[u64], row: usize) -> u64 {
        values.get(row).copied().unwrap_or(NULL)
    }
}
