//! The record of a network in a database, in the layouts of several providers: MaxMind's and DB-IP's maps, IPinfo's flat texts.

use crate::{AddressLocation, Country};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// A record. Its other members are skipped.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct GeoRecord {
    autonomous_system_number: GeoMember,
    asn: GeoMember,
    country: GeoMember,
    country_code: GeoMember,
    traits: Traits,
}

/// The traits of a network in MaxMind's commercial databases.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Traits {
    autonomous_system_number: GeoMember,
}

impl GeoRecord {
    pub(crate) fn place(&self) -> AddressLocation {
        let asn = [self.autonomous_system_number, self.asn, self.traits.autonomous_system_number];
        AddressLocation {
            asn: asn.into_iter().find_map(|member| member.asn),
            country: self.country.country.or(self.country_code.country),
        }
    }
}

/// A member, as a number and as a country: a database says in no other way which of them it means.
#[derive(Clone, Copy, Debug, Default)]
struct GeoMember {
    asn: Option<u32>,
    country: Option<Country>,
}

impl GeoMember {
    fn number(number: u64) -> Self {
        // No network has the number 0 (RFC 7607).
        Self { asn: u32::try_from(number).ok().filter(|asn| *asn != 0), country: None }
    }

    fn text(text: &str) -> Self {
        let digits = match text.get(..2) {
            Some(prefix) if prefix.eq_ignore_ascii_case("AS") => &text[2..],
            _ => text,
        };
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        let asn = digits.parse().ok().filter(|_| is_number).and_then(|number| Self::number(number).asn);
        let country = match *text.as_bytes() {
            [one, two] if one.is_ascii_alphabetic() && two.is_ascii_alphabetic() => {
                Some([one.to_ascii_uppercase(), two.to_ascii_uppercase()])
            }
            _ => None,
        };
        Self { asn, country }
    }
}

impl<'de> Deserialize<'de> for GeoMember {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MemberVisitor)
    }
}

struct MemberVisitor;

/// Values of other types are no member, but no reason to lose the record.
impl<'de> Visitor<'de> for MemberVisitor {
    type Value = GeoMember;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, a text or a map with iso_code")
    }

    fn visit_u64<E>(self, number: u64) -> Result<GeoMember, E> {
        Ok(GeoMember::number(number))
    }

    fn visit_u128<E>(self, _: u128) -> Result<GeoMember, E> {
        Ok(GeoMember::default())
    }

    fn visit_i64<E>(self, number: i64) -> Result<GeoMember, E> {
        Ok(GeoMember::number(u64::try_from(number).unwrap_or(0)))
    }

    fn visit_f64<E>(self, _: f64) -> Result<GeoMember, E> {
        Ok(GeoMember::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<GeoMember, E> {
        Ok(GeoMember::default())
    }

    fn visit_bytes<E>(self, _: &[u8]) -> Result<GeoMember, E> {
        Ok(GeoMember::default())
    }

    fn visit_str<E>(self, text: &str) -> Result<GeoMember, E> {
        Ok(GeoMember::text(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<GeoMember, A::Error> {
        let mut member = GeoMember::default();
        while let Some(key) = map.next_key::<&str>()? {
            match key {
                "iso_code" => member = map.next_value()?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(GeoMember { asn: None, ..member })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<GeoMember, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(GeoMember::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_numbers_and_countries_of_two_letters() {
        assert_eq!(GeoMember::text("AS13335").asn, Some(13_335));
        assert_eq!(GeoMember::text("as1").asn, Some(1));
        assert_eq!(GeoMember::text("4294967295").asn, Some(u32::MAX));
        for other in ["", "AS", "AS0", "4294967296", "AS+1", "AS1 Name", "ä1", "1ä"] {
            assert_eq!(GeoMember::text(other).asn, None, "{other}");
        }
        assert_eq!(GeoMember::text("de").country, Some(*b"DE"));
        for other in ["", "D", "DEU", "D1", "ä"] {
            assert_eq!(GeoMember::text(other).country, None, "{other}");
        }
    }
}
