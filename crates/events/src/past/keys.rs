//! Keys by number, so that each is kept once however many windows have it.

use crate::key::{EventKey, Member};
use std::collections::HashMap;

/// The keys that some window has.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyDictionary {
    numbers: HashMap<EventKey, u32>,
    /// The key of each number, and how many windows have it; `None` where the number is free.
    places: Vec<Option<(EventKey, u32)>>,
    free: Vec<u32>,
    bytes: u64,
}

impl KeyDictionary {
    /// The number of a key, if a window has it.
    pub(crate) fn number(&self, key: &EventKey) -> Option<u32> {
        self.numbers.get(key).copied()
    }

    /// The key of a number.
    pub(crate) fn key(&self, number: u32) -> Option<&EventKey> {
        self.places.get(number as usize)?.as_ref().map(|(key, _)| key)
    }

    /// The number of a key that one more window has.
    pub(crate) fn take(&mut self, key: &EventKey) -> u32 {
        if let Some(number) = self.number(key) {
            if let Some(Some((_, windows))) = self.places.get_mut(number as usize) {
                *windows += 1;
            }
            return number;
        }
        let number = self.free.pop().unwrap_or(self.places.len() as u32);
        if number as usize == self.places.len() {
            self.places.push(None);
        }
        self.places[number as usize] = Some((key.clone(), 1));
        self.numbers.insert(key.clone(), number);
        self.bytes += bytes(key);
        number
    }

    /// One window less has the key.
    pub(crate) fn release(&mut self, number: u32) {
        let Some(place) = self.places.get_mut(number as usize) else { return };
        let Some((_, windows)) = place else { return };
        *windows -= 1;
        if *windows == 0
            && let Some((key, _)) = place.take()
        {
            self.bytes -= bytes(&key);
            self.numbers.remove(&key);
            self.free.push(number);
        }
    }

    /// The memory that they take, an estimate.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// The memory of a key, which is kept twice, an estimate.
pub(crate) fn bytes(key: &EventKey) -> u64 {
    let texts = key.iter().map(|member| if let Member::Text(text) = member { text.len() } else { 0 });
    let one = size_of::<EventKey>() + key.len() * size_of::<Member>() + texts.sum::<usize>();
    2 * (one as u64 + 16)
}
