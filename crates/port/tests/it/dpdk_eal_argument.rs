//! A wrong EAL argument: an error, not an exit; and EAL's usage text does not land on standard output.
use port::dpdk::{Eal, EalConfig};
use port::{SourceError, SourceSetting};
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd};
use testbed::process::alone;

#[test]
fn a_wrong_argument_is_an_error() {
    alone(|| {
        let mut ends = [0; 2];
        // SAFETY: room for two descriptors.
        assert_eq!(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_NONBLOCK) }, 0);
        // SAFETY: standard output is open; both descriptors are ours.
        let kept = unsafe { libc::dup(1) };
        // SAFETY: as above.
        unsafe { libc::dup2(ends[1], 1) };
        let config = EalConfig { arguments: vec!["--no-such-option".into()], ..EalConfig::default() };
        let result = Eal::init(&config);
        // SAFETY: as above.
        unsafe { libc::dup2(kept, 1) };

        let error = result.expect_err("EAL refuses it");
        assert!(
            matches!(&error, SourceError::Refused(SourceSetting::Eal, text) if !text.contains('\n')),
            "{error:?}"
        );
        // SAFETY: the pipe's reading end is owned here and not shared.
        let mut reader = unsafe { std::fs::File::from_raw_fd(ends[0]) };
        let mut text = [0; 64];
        let read = reader.read(&mut text);
        assert!(read.is_err(), "on standard output of fd {}: {read:?}", reader.as_raw_fd());
    });
}
