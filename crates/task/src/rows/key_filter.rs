//! Filters of single packets.

use super::predicate::KeyPredicate;
use super::program::RowProgram;
use crate::plan_context::PlanContext;
use crate::query::Condition;
use crate::row_refusal::Refusal;
use packet::MaskedKey;

/// A condition that the flow key of a packet decides.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyFilter(KeyPredicate);

impl KeyFilter {
    /// The filter that all packets pass.
    pub fn all() -> Self {
        Self(KeyPredicate::Always(true))
    }

    /// Plans a condition on members of the key.
    ///
    /// # Errors
    /// If it depends on anything else.
    pub fn plan(condition: &Condition, site: &PlanContext) -> Result<Self, Refusal> {
        let mut program = RowProgram::default();
        let node = program.condition(condition, site)?;
        let predicate = KeyPredicate::from_node(node, &program);
        match predicate.is_decided() {
            true => Ok(Self(predicate)),
            false => Err(Refusal::Misplaced { what: "a condition that flow keys do not decide".to_owned() }),
        }
    }

    /// Returns true if a packet with this key passes.
    pub fn holds<K: MaskedKey>(&self, key: &K) -> bool {
        self.0.holds(key) == Some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::{Comparison, Expression};
    use arena::Limits;
    use packet::{KeySpec, KeyV4, KeyV6, Seed};

    fn site() -> PlanContext {
        PlanContext::new(KeySpec::FIVE_TUPLE, Seed::new(1), Limits::new(1 << 20, 1))
    }

    #[test]
    fn keys_decide() {
        let address = |text: &str| (text.parse().expect("an address"), 32);
        let to = |port| Condition::compare("dst_port", Comparison::Equal, port);
        let from = Condition::InPrefixes("src_addr".to_owned(), vec![address("10.0.0.1")]);
        let condition = Condition::And(vec![from, Condition::Not(Box::new(to(80)))]);
        let filter = KeyFilter::plan(&condition, &site()).expect("a filter");
        let key = |last, port: u8| KeyV4::new([10, 0, 0, last, 10, 0, 0, 9], [1, 2, 0, port], 6);
        assert!(filter.holds(&key(1, 81)) && !filter.holds(&key(1, 80)) && !filter.holds(&key(2, 81)));
        assert!(!filter.holds(&KeyV6::default()));
        assert!(KeyFilter::all().holds(&KeyV6::default()));
    }

    /// A key with a prefix does not tell which address of it a packet had.
    #[test]
    fn addresses_that_keys_have_a_part_of_are_refused() {
        let key = KeySpec::parse("src_addr/24/48,dst_addr").expect("a key");
        let site = PlanContext { key, ..site() };
        let within = |field: &str, address: &str, length| {
            let network = (address.parse().expect("an address"), length);
            KeyFilter::plan(&Condition::InPrefixes(field.to_owned(), vec![network]), &site).map(|_| ())
        };
        let refused = || Err(Refusal::NotInKey { field: "src_addr".to_owned() });
        assert_eq!(within("src_addr", "10.0.0.0", 24), Ok(()));
        assert_eq!(within("src_addr", "2001:db8::", 48), Ok(()));
        assert_eq!(within("dst_addr", "10.0.0.200", 32), Ok(()));
        for (field, address, length) in [
            ("src_addr", "10.0.0.200", 32),
            ("src_addr", "10.0.0.128", 25),
            ("src_addr", "2001:db8::1", 128),
            ("addr", "10.0.0.200", 32),
        ] {
            assert_eq!(within(field, address, length), refused(), "{field} {address}/{length}");
        }
        let [source, destination] = ["src_addr", "dst_addr"].map(Expression::field);
        let same = Condition::Compare(source, Comparison::Equal, destination);
        assert_eq!(KeyFilter::plan(&same, &site).map(|_| ()), refused());
    }

    #[test]
    fn what_keys_do_not_decide_is_refused() {
        let of_row = Condition::compare("total_byte", Comparison::Greater, 5);
        let either = Condition::Or(vec![Condition::compare("dst_port", Comparison::Equal, 1), of_row]);
        assert!(matches!(KeyFilter::plan(&either, &site()), Err(Refusal::Misplaced { .. })));
        let unknown = Condition::IsNull(Expression::field("no_such_field"));
        assert!(matches!(KeyFilter::plan(&unknown, &site()), Err(Refusal::Unknown { .. })));
    }
}
