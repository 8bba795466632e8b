//! Information elements of IPFIX (RFC 7011).

/// An IPFIX information element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InformationElement {
    /// The element's name: of the registry of RFC 7012, or Edison's own.
    pub name: &'static str,
    /// The element's number, below 2¹⁵.
    pub number: u16,
    /// The enterprise number of the owner; 0 for the registry.
    pub enterprise: u32,
}

impl InformationElement {
    /// Returns an element of the registry of RFC 7012.
    pub const fn registered(name: &'static str, number: u16) -> Self {
        Self { name, number, enterprise: 0 }
    }

    /// Returns an element of Edison's own, under the number that RFC 5612 reserves for documentation: Edison has none assigned.
    pub const fn own(name: &'static str, number: u16) -> Self {
        Self { name, number, enterprise: Self::DOCUMENTATION }
    }

    /// The enterprise number that RFC 5612 reserves for documentation.
    pub const DOCUMENTATION: u32 = 32473;
}
