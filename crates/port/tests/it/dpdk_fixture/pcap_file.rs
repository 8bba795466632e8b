//! A capture file written by hand, and removed in the end.

use std::path::{Path, PathBuf};

pub(crate) struct PcapFile(PathBuf);

impl PcapFile {
    /// Little-endian pcap with microseconds, link type Ethernet: (seconds, microseconds, frame).
    pub(crate) fn new(name: &str, frames: &[(u32, u32, Vec<u8>)]) -> Self {
        let mut bytes = Vec::new();
        for word in [0xa1b2_c3d4_u32, 2 | 4 << 16, 0, 0, 262_144, 1] {
            bytes.extend(word.to_le_bytes());
        }
        for (seconds, micros, frame) in frames {
            for word in [*seconds, *micros, frame.len() as u32, frame.len() as u32] {
                bytes.extend(word.to_le_bytes());
            }
            bytes.extend(frame);
        }
        let path = std::env::temp_dir().join(format!("edison-{name}-{}.pcap", std::process::id()));
        std::fs::write(&path, bytes).expect("the temporary directory is writable");
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for PcapFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
