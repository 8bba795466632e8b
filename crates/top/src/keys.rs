//! Keys, as a terminal sends them.

/// A key that does something here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of keys")]
pub enum KeyPress {
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
pub struct KeyReader {
    /// A sequence that has begun.
    begun: Vec<u8>,
}

impl KeyReader {
    /// The keys in these bytes, as they were read at once. What is no key that is known is left out.
    pub fn read(&mut self, bytes: &[u8]) -> Vec<KeyPress> {
        let mut bytes = [std::mem::take(&mut self.begun).as_slice(), bytes].concat();
        let mut keys = Vec::new();
        while !bytes.is_empty() {
            match first(&bytes) {
                KeyMatch::Key(key, length) => {
                    keys.push(key);
                    bytes.drain(..length);
                }
                KeyMatch::Unknown(length) => drop(bytes.drain(..length)),
                KeyMatch::Begun if bytes.len() < LONGEST => {
                    self.begun = bytes;
                    break;
                }
                KeyMatch::Begun => bytes.clear(),
            }
        }
        keys
    }
}

/// The key that bytes begin with, and its length in bytes.
enum KeyMatch {
    Key(KeyPress, usize),
    Unknown(usize),
    /// The bytes are the beginning of a key.
    Begun,
}

fn first(bytes: &[u8]) -> KeyMatch {
    let key = |key| KeyMatch::Key(key, 1);
    match bytes[0] {
        b'\r' | b'\n' => key(KeyPress::Enter),
        b'\t' => key(KeyPress::Tab),
        0x7f | 0x08 => key(KeyPress::Backspace),
        0x0c => key(KeyPress::Again),
        0x1b => sequence(bytes),
        byte if byte.is_ascii_control() => KeyMatch::Unknown(1),
        byte if byte.is_ascii() => key(KeyPress::Letter(byte.into())),
        byte => letter(bytes, byte),
    }
}

/// A letter beyond ASCII.
fn letter(bytes: &[u8], first: u8) -> KeyMatch {
    let length = match first {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return KeyMatch::Unknown(1),
    };
    let Some(bytes) = bytes.get(..length) else { return KeyMatch::Begun };
    match std::str::from_utf8(bytes).ok().and_then(|text| text.chars().next()) {
        Some(letter) => KeyMatch::Key(KeyPress::Letter(letter), length),
        None => KeyMatch::Unknown(1),
    }
}

/// A sequence that begins with ESC. ESC alone, or before something else, is the key.
fn sequence(bytes: &[u8]) -> KeyMatch {
    let escape = KeyMatch::Key(KeyPress::Escape, 1);
    match bytes.get(1) {
        Some(b'O') => match bytes.get(2) {
            None => KeyMatch::Begun,
            Some(&last) => named(last, &[], 3),
        },
        Some(b'[') => {
            let body = &bytes[2..];
            let Some(end) = body.iter().position(|byte| matches!(byte, 0x40..=0x7e)) else {
                return KeyMatch::Begun;
            };
            named(body[end], &body[..end], end + 3)
        }
        _ => escape,
    }
}

/// The key of a sequence with this last byte and these parameters.
fn named(last: u8, parameters: &[u8], length: usize) -> KeyMatch {
    let number = parameters.split(|&byte| byte == b';').next().unwrap_or_default();
    let key = match (last, number) {
        (b'A', _) => KeyPress::Up,
        (b'B', _) => KeyPress::Down,
        (b'H', _) | (b'~', b"1" | b"7") => KeyPress::Home,
        (b'F', _) | (b'~', b"4" | b"8") => KeyPress::End,
        (b'Z', _) => KeyPress::BackTab,
        (b'~', b"5") => KeyPress::PageUp,
        (b'~', b"6") => KeyPress::PageDown,
        (b'M', _) => KeyPress::Enter,
        _ => return KeyMatch::Unknown(length),
    };
    KeyMatch::Key(key, length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_terminals() {
        let read = |bytes: &[u8]| KeyReader::default().read(bytes);
        assert_eq!(read(b"2jq"), ['2', 'j', 'q'].map(KeyPress::Letter));
        // xterm, its application mode, the Linux console, with a modifier.
        assert_eq!(
            read(b"\x1b[A\x1b[B\x1bOA\x1bOB\x1b[1;5A"),
            [KeyPress::Up, KeyPress::Down, KeyPress::Up, KeyPress::Down, KeyPress::Up]
        );
        assert_eq!(
            read(b"\x1b[5~\x1b[6~\x1b[H\x1b[4~\x1b[Z"),
            [KeyPress::PageUp, KeyPress::PageDown, KeyPress::Home, KeyPress::End, KeyPress::BackTab]
        );
        assert_eq!(
            read(b"\r\x7f\t\x0c\x1b"),
            [KeyPress::Enter, KeyPress::Backspace, KeyPress::Tab, KeyPress::Again, KeyPress::Escape]
        );
        // F5, the right arrow, Ctrl-D and broken UTF-8 do nothing.
        assert_eq!(read(b"\x1b[15~\x1b[C\x04\xffq"), [KeyPress::Letter('q')]);
        assert_eq!(read("ü日".as_bytes()), ['ü', '日'].map(KeyPress::Letter));
    }

    #[test]
    fn a_sequence_may_come_in_parts_and_does_not_grow() {
        let mut keys = KeyReader::default();
        assert_eq!(keys.read(b"\x1b["), []);
        assert_eq!(keys.read(b"5~"), [KeyPress::PageUp]);
        assert_eq!(keys.read(b"\xc3"), []);
        assert_eq!(keys.read(b"\xbc"), [KeyPress::Letter('ü')]);
        assert_eq!(keys.read(&[b"\x1b[".as_slice(), &[b'1'; 100]].concat()), []);
        assert_eq!(keys.read(b"q"), [KeyPress::Letter('q')]);
    }
}
