//! Keys, as a terminal sends them.

/// A key that does something here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of keys")]
pub enum Key {
    Letter(char),
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    Enter,
    Escape,
    Tab,
    BackTab,
    Backspace,
    /// Ctrl-L: draw all of it anew.
    Again,
}

/// The longest sequence that is waited for, bytes.
const LONGEST: usize = 16;

/// Reads keys from bytes, which may come in any parts.
#[derive(Debug, Default)]
pub struct Keys {
    /// A sequence that has begun.
    begun: Vec<u8>,
}

impl Keys {
    /// The keys in these bytes, as they were read at once. What is no key that is known is left out.
    pub fn read(&mut self, bytes: &[u8]) -> Vec<Key> {
        let mut bytes = [std::mem::take(&mut self.begun).as_slice(), bytes].concat();
        let mut keys = Vec::new();
        while !bytes.is_empty() {
            match first(&bytes) {
                First::Key(key, length) => {
                    keys.push(key);
                    bytes.drain(..length);
                }
                First::Unknown(length) => drop(bytes.drain(..length)),
                First::Begun if bytes.len() < LONGEST => {
                    self.begun = bytes;
                    break;
                }
                First::Begun => bytes.clear(),
            }
        }
        keys
    }
}

/// The key that bytes begin with, and its length in bytes.
enum First {
    Key(Key, usize),
    Unknown(usize),
    /// The bytes are the beginning of a key.
    Begun,
}

fn first(bytes: &[u8]) -> First {
    let key = |key| First::Key(key, 1);
    match bytes[0] {
        b'\r' | b'\n' => key(Key::Enter),
        b'\t' => key(Key::Tab),
        0x7f | 0x08 => key(Key::Backspace),
        0x0c => key(Key::Again),
        0x1b => sequence(bytes),
        byte if byte.is_ascii_control() => First::Unknown(1),
        byte if byte.is_ascii() => key(Key::Letter(byte.into())),
        byte => letter(bytes, byte),
    }
}

/// A letter beyond ASCII.
fn letter(bytes: &[u8], first: u8) -> First {
    let length = match first {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return First::Unknown(1),
    };
    let Some(bytes) = bytes.get(..length) else { return First::Begun };
    match std::str::from_utf8(bytes).ok().and_then(|text| text.chars().next()) {
        Some(letter) => First::Key(Key::Letter(letter), length),
        None => First::Unknown(1),
    }
}

/// A sequence that begins with ESC. ESC alone, or before something else, is the key.
fn sequence(bytes: &[u8]) -> First {
    let escape = First::Key(Key::Escape, 1);
    match bytes.get(1) {
        Some(b'O') => match bytes.get(2) {
            None => First::Begun,
            Some(&last) => named(last, &[], 3),
        },
        Some(b'[') => {
            let body = &bytes[2..];
            let Some(end) = body.iter().position(|byte| matches!(byte, 0x40..=0x7e)) else {
                return First::Begun;
            };
            named(body[end], &body[..end], end + 3)
        }
        _ => escape,
    }
}

/// The key of a sequence with this last byte and these parameters.
fn named(last: u8, parameters: &[u8], length: usize) -> First {
    let number = parameters.split(|&byte| byte == b';').next().unwrap_or_default();
    let key = match (last, number) {
        (b'A', _) => Key::Up,
        (b'B', _) => Key::Down,
        (b'H', _) | (b'~', b"1" | b"7") => Key::Home,
        (b'F', _) | (b'~', b"4" | b"8") => Key::End,
        (b'Z', _) => Key::BackTab,
        (b'~', b"5") => Key::PageUp,
        (b'~', b"6") => Key::PageDown,
        (b'M', _) => Key::Enter,
        _ => return First::Unknown(length),
    };
    First::Key(key, length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_terminals() {
        let read = |bytes: &[u8]| Keys::default().read(bytes);
        assert_eq!(read(b"2jq"), ['2', 'j', 'q'].map(Key::Letter));
        // xterm, its application mode, the Linux console, with a modifier.
        assert_eq!(
            read(b"\x1b[A\x1b[B\x1bOA\x1bOB\x1b[1;5A"),
            [Key::Up, Key::Down, Key::Up, Key::Down, Key::Up]
        );
        assert_eq!(
            read(b"\x1b[5~\x1b[6~\x1b[H\x1b[4~\x1b[Z"),
            [Key::PageUp, Key::PageDown, Key::Home, Key::End, Key::BackTab]
        );
        assert_eq!(
            read(b"\r\x7f\t\x0c\x1b"),
            [Key::Enter, Key::Backspace, Key::Tab, Key::Again, Key::Escape]
        );
        // F5, the right arrow, Ctrl-D and broken UTF-8 do nothing.
        assert_eq!(read(b"\x1b[15~\x1b[C\x04\xffq"), [Key::Letter('q')]);
        assert_eq!(read("ü日".as_bytes()), ['ü', '日'].map(Key::Letter));
    }

    #[test]
    fn a_sequence_may_come_in_parts_and_does_not_grow() {
        let mut keys = Keys::default();
        assert_eq!(keys.read(b"\x1b["), []);
        assert_eq!(keys.read(b"5~"), [Key::PageUp]);
        assert_eq!(keys.read(b"\xc3"), []);
        assert_eq!(keys.read(b"\xbc"), [Key::Letter('ü')]);
        assert_eq!(keys.read(&[b"\x1b[".as_slice(), &[b'1'; 100]].concat()), []);
        assert_eq!(keys.read(b"q"), [Key::Letter('q')]);
    }
}
