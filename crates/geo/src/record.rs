//! The record of a network in a database, in the layouts of several providers: MaxMind's and DB-IP's maps, IPinfo's flat texts.

use crate::{Country, Place};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// A record. Its other members are skipped.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Record {
    autonomous_system_number: Member,
    asn: Member,
    country: Member,
    country_code: Member,
    traits: Traits,
}

/// The traits of a network in MaxMind's commercial databases.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Traits {
    autonomous_system_number: Member,
}

impl Record {
    pub(crate) fn place(&self) -> Place {
        let asn = [self.autonomous_system_number, self.asn, self.traits.autonomous_system_number];
        Place {
            asn: asn.into_iter().find_map(|member| member.asn),
            country: self.country.country.or(self.country_code.country),
        }
    }
}

/// A member, as a number and as a country: a database says in no other way which of them it means.
#[derive(Clone, Copy, Debug, Default)]
struct Member {
    asn: Option<u32>,
    country: Option<Country>,
}

impl Member {
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

impl<'de> Deserialize<'de> for Member {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MemberVisitor)
    }
}

struct MemberVisitor;

/// Values of other types are no member, but no reason to lose the record.
impl<'de> Visitor<'de> for MemberVisitor {
    type Value = Member;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, a text or a map with iso_code")
    }

    fn visit_u64<E>(self, number: u64) -> Result<Member, E> {
        Ok(Member::number(number))
    }

    fn visit_u128<E>(self, _: u128) -> Result<Member, E> {
        Ok(Member::default())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Member, E> {
        Ok(Member::number(u64::try_from(number).unwrap_or(0)))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Member, E> {
        Ok(Member::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Member, E> {
        Ok(Member::default())
    }

    fn visit_bytes<E>(self, _: &[u8]) -> Result<Member, E> {
        Ok(Member::default())
    }

    fn visit_str<E>(self, text: &str) -> Result<Member, E> {
        Ok(Member::text(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Member, A::Error> {
        let mut member = Member::default();
        while let Some(key) = map.next_key::<&str>()? {
            match key {
                "iso_code" => member = map.next_value()?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Member { asn: None, ..member })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Member, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Member::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_numbers_and_countries_of_two_letters() {
        assert_eq!(Member::text("AS13335").asn, Some(13_335));
        assert_eq!(Member::text("as1").asn, Some(1));
        assert_eq!(Member::text("4294967295").asn, Some(u32::MAX));
        for other in ["", "AS", "AS0", "4294967296", "AS+1", "AS1 Name", "ä1", "1ä"] {
            assert_eq!(Member::text(other).asn, None, "{other}");
        }
        assert_eq!(Member::text("de").country, Some(*b"DE"));
        for other in ["", "D", "DEU", "D1", "ä"] {
            assert_eq!(Member::text(other).country, None, "{other}");
        }
    }
}
