//! `edison authority`: what it makes is judged by openssl.

use crate::support::program::{Ended, edison, run};
use crate::support::scratch::{Scratch, text};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

fn authority(dir: &Path, words: &[&str]) -> Ended {
    run(edison().arg("authority").arg(dir).args(words))
}

/// What openssl says, or nothing where it is not installed.
fn openssl(arguments: &[&str]) -> Option<String> {
    let output = Command::new("openssl").args(arguments).output().ok()?;
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    Some(said)
}

/// All files with what is in them.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(dir).expect("a folder").map(|entry| entry.expect("an entry"));
    let name = |entry: &std::fs::DirEntry| entry.file_name().into_string().expect("UTF-8");
    entries.map(|entry| (name(&entry), std::fs::read(entry.path()).expect("a file"))).collect()
}

#[test]
fn certificates_are_made_once_and_are_good() {
    let scratch = Scratch::new();
    let dir = scratch.path("tls");
    let told =
        authority(&dir, &["Node1", "the o'ther ü", "--host", "broker.example.net", "--host", "192.0.2.7"]);
    let told = told.expect(0).stdout;
    assert!(told.contains("made      ") && told.contains("ssl_cert_login_from = common_name"), "{told}");
    assert!(!told.contains("PRIVATE KEY"));
    let first = files(&dir);
    let names = ["Node1", "broker", "ca", "controller", "the o'ther ü"];
    let expected = names.iter().flat_map(|name| [format!("{name}.key"), format!("{name}.pem")]);
    assert!(first.keys().cloned().eq(expected), "{:?}", first.keys());
    for name in first.keys() {
        let mode = dir.join(name).metadata().expect("a file").permissions().mode() & 0o777;
        assert_eq!(mode, if name.ends_with(".key") { 0o600 } else { 0o644 }, "{name}");
    }

    // What is there stays; what is added is of the same authority.
    assert!(!authority(&dir, &["Node1"]).expect(0).stdout.contains("made "));
    assert_eq!(files(&dir), first);
    let added = authority(&dir, &["Node2"]).expect(0).stdout;
    assert_eq!(added.lines().filter(|line| line.starts_with("made ")).count(), 1, "{added}");
    let second = files(&dir);
    assert!(first.iter().all(|(name, content)| second.get(name) == Some(content)));

    let path = |name: &str| dir.join(name).to_str().expect("UTF-8").to_owned();
    let verify = |purpose: &str, name: &str| {
        openssl(&["verify", "-x509_strict", "-CAfile", &path("ca.pem"), "-purpose", purpose, &path(name)])
    };
    if verify("sslserver", "broker.pem").is_none() {
        eprintln!("skipped: openssl is not installed");
        return;
    }
    for name in ["controller.pem", "Node1.pem", "Node2.pem", "the o'ther ü.pem"] {
        verify("sslclient", name);
        let subject = openssl(&[
            "x509",
            "-noout",
            "-subject",
            "-nameopt",
            "multiline,utf8,-esc_msb",
            "-in",
            &path(name),
        ]);
        let subject = subject.expect("openssl");
        let common = subject.lines().find_map(|line| line.trim().strip_prefix("commonName"));
        assert_eq!(common.map(|line| line.trim_start_matches([' ', '='])), name.strip_suffix(".pem"));
    }
    let hosts =
        openssl(&["x509", "-noout", "-ext", "subjectAltName", "-in", &path("broker.pem")]).expect("openssl");
    for host in ["DNS:localhost", "IP Address:127.0.0.1", "DNS:broker.example.net", "IP Address:192.0.2.7"] {
        assert!(hosts.contains(host), "{hosts}");
    }
    let of_key = |name: &str| openssl(&["pkey", "-pubout", "-in", &path(name)]).expect("openssl");
    let of_certificate =
        |name: &str| openssl(&["x509", "-noout", "-pubkey", "-in", &path(name)]).expect("openssl");
    assert_eq!(of_key("Node1.key"), of_certificate("Node1.pem"));
    // A year and some, and no longer than the authority.
    openssl(&["x509", "-noout", "-checkend", "34000000", "-in", &path("Node1.pem")]);
}

#[test]
fn what_cannot_be_signed_is_told() {
    let scratch = Scratch::new();
    let dir = scratch.path("tls");
    for (name, words) in [
        ("../x", "no '/'"),
        (".hidden", "no '.'"),
        ("", "1 to 200 bytes"),
        ("two\nlines", "no control characters"),
        ("ca", "taken"),
        ("broker", "taken"),
        (&"n".repeat(65), "64 characters"),
    ] {
        authority(&dir, &[name]).says(2, &[words]);
    }
    assert!(!dir.exists(), "something was made");
    authority(&dir, &["A", "--host", "not a name ü"]).says(2, &["broker.pem"]);
    authority(&dir, &["A"]).expect(0);
    authority(&dir, &["A", "--host", "late.example.net"]).says(2, &["--host", "broker.key", "remove it"]);

    // A pair of which one is missing, keys that others may read, and those of other authorities.
    std::fs::remove_file(dir.join("A.key")).expect("a file");
    authority(&dir, &["A"]).says(2, &["A.key", "is missing"]);
    std::fs::set_permissions(dir.join("ca.key"), PermissionsExt::from_mode(0o640)).expect("own file");
    authority(&dir, &["B"]).says(2, &["ca.key", "0640", "chmod 600"]);
    let other = scratch.path("other");
    authority(&other, &[]).expect(0);
    std::fs::copy(other.join("ca.key"), dir.join("ca.key")).expect("a file");
    std::fs::set_permissions(dir.join("ca.key"), PermissionsExt::from_mode(0o600)).expect("own file");
    authority(&dir, &["B"]).says(2, &["ca.pem", "another authority"]);
    std::fs::remove_file(dir.join("ca.key")).expect("a file");
    authority(&dir, &["B"]).says(2, &["ca.key", "bring it back"]);
    let foreign = scratch.path("foreign");
    std::fs::create_dir(&foreign).expect("a folder");
    let (key, certificate) = (foreign.join("ca.key"), foreign.join("ca.pem"));
    let made = openssl(&[
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-subj",
        "/CN=Somebody",
        "-keyout",
        text(&key),
        "-out",
        text(&certificate),
    ]);
    if made.is_some() {
        std::fs::set_permissions(&key, PermissionsExt::from_mode(0o600)).expect("own file");
        authority(&foreign, &["B"]).says(2, &["ca.pem", "not made by edison authority"]);
    }
    assert!(!dir.join("B.pem").exists() && !foreign.join("B.pem").exists());
}
