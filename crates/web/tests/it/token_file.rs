//! The file of tokens.

use crate::access::Keys;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use web::{Role, TokenFile, Tokens};

#[test]
fn a_file_that_others_may_read_or_that_is_none_is_refused() {
    let keys = Keys::new();
    let path = keys.path();
    let mode = fs::metadata(&path).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = fs::read_to_string(&path).expect("a text");
    for (_, token) in &keys.tokens {
        assert!(
            !text.contains(token.text()) && !text.contains(&token.text()[20..]),
            "the token itself is there"
        );
    }
    let error = |path: &Path| Tokens::open(path).expect_err("it is refused").to_string();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("it is set");
    assert!(error(&path).contains("chmod 600"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is set");
    for (text, reason) in [
        ("a view\n", "line 1: this is no NAME ROLE HASH"),
        ("# x\n\na root $argon2id$x\n", "line 3: \"root\" is no role"),
        (
            "a view $argon2id$v=19$m=4194304,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
            "no argon2 hash",
        ),
        ("# nothing\n", "no token"),
    ] {
        fs::write(&path, text).expect("it is written");
        assert!(error(&path).contains(reason), "{}", error(&path));
    }
    assert!(error(&path.with_file_name("none")).contains("edison controller token"));
    assert!(error(path.parent().expect("a folder")).contains("directory"));
}

#[test]
fn changes_keep_what_is_not_theirs_and_one_is_made_at_a_time() {
    let keys = Keys::new();
    let path = keys.path();
    let text = fs::read_to_string(&path).expect("a text");
    fs::write(&path, format!("# of the operators\n\n{text}")).expect("it is written");
    keys.change(|file| file.remove("run"));
    let after = fs::read_to_string(&path).expect("a text");
    assert!(after.starts_with("# of the operators\n\n# Tokens"), "{after}");
    assert!(after.contains("\nview view $argon2id$") && !after.contains("\nrun "), "{after}");
    let refuse = |error: &str| {
        let change = |file: &mut TokenFile| {
            file.add("new", Role::View)?;
            if error.contains("another") { Ok(()) } else { file.add("view", Role::View).map(drop) }
        };
        let refused = TokenFile::change(&path, change).expect_err("it is refused").to_string();
        assert!(refused.contains(error) && !refused.contains('\n'), "{refused}");
    };
    refuse("there is a token view already");
    let part = path.with_file_name("tokens.part");
    assert!(!part.exists());
    fs::write(&part, "").expect("it is written");
    refuse("another command changes it");
    assert_eq!(fs::read_to_string(&path).expect("a text"), after);
    assert!(part.exists(), "it is the other command's");
    for name in ["", "a b", "a/b", "\u{e4}", &"a".repeat(65)] {
        assert!(TokenFile::default().add(name, Role::View).is_err(), "{name}");
    }
}
