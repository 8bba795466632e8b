//! The faults of a controller's own: which last, and which are over.

use notation::how_long;
use std::collections::{BTreeMap, VecDeque};
use web::view::Fault;

/// Faults that are over and still told of.
const MOST_OVER: usize = 20;

/// The faults of a controller.
#[derive(Debug, Default)]
pub(super) struct Faults {
    /// The faults that last, by name.
    lasting: BTreeMap<&'static str, Fault>,
    over: VecDeque<Fault>,
}

impl Faults {
    /// Takes what is wrong now under this name, if anything is. Returns how long it lasted, once it is over.
    pub(super) fn set(&mut self, name: &'static str, reason: Option<&str>, now_ns: u64) -> Option<String> {
        match (self.lasting.get_mut(name), reason) {
            (None, None) => None,
            (Some(fault), Some(reason)) => {
                reason.clone_into(&mut fault.reason);
                None
            }
            (None, Some(reason)) => {
                let (fault, reason) = (name.to_owned(), reason.to_owned());
                self.lasting.insert(name, Fault { fault, since_ns: now_ns, until_ns: None, reason });
                None
            }
            (Some(_), None) => {
                let mut fault = self.lasting.remove(name)?;
                fault.until_ns = Some(now_ns);
                let lasted = how_long(now_ns.saturating_sub(fault.since_ns));
                self.over.push_back(fault);
                if self.over.len() > MOST_OVER {
                    self.over.pop_front();
                }
                Some(lasted)
            }
        }
    }

    /// All that are told of, the oldest first.
    pub(super) fn told(&self) -> Vec<Fault> {
        let mut told: Vec<Fault> = self.over.iter().chain(self.lasting.values()).cloned().collect();
        told.sort_by_key(|fault| fault.since_ns);
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_has_a_begin_and_an_end_and_those_that_are_over_are_bounded() {
        let mut faults = Faults::default();
        assert_eq!(faults.set("archive", None, 1), None);
        assert_eq!(faults.set("archive", Some("full"), 1_000_000_000), None);
        assert_eq!(faults.set("archive", Some("damaged"), 2_000_000_000), None);
        let told = faults.told();
        assert_eq!((told.len(), told[0].since_ns, told[0].until_ns), (1, 1_000_000_000, None));
        assert_eq!(told[0].reason, "damaged");
        assert_eq!(faults.set("archive", None, 3_000_000_000), Some("2 s".to_owned()));
        assert_eq!(faults.told()[0].until_ns, Some(3_000_000_000));
        for at in 4..100 {
            faults.set("broker_away", Some("refused"), at);
            faults.set("broker_away", None, at + 1);
        }
        assert_eq!(faults.told().len(), MOST_OVER);
    }
}
