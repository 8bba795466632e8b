//! The calls of `rabbitmqctl` that set a broker up, as a script.

use super::plan::{Login, ProvisionPlan};
use runtime::exit::Failure;
use std::fmt::Write;

const BEGIN: &str = "\
#!/bin/sh
# Sets a RabbitMQ broker up for Edison: run it where rabbitmqctl is, as who may call it. It may run again: what is there stays, and
# rights become these. RABBITMQCTL is another command in its place.
# Exchanges and queues are not rabbitmqctl's: the controller declares them when it starts, and has the rights to.
set -eu
ctl() { ${RABBITMQCTL:-rabbitmqctl} --quiet \"$@\"; }
users=$(ctl list_users --no-table-headers)
has_user() { printf '%s\\n' \"$users\" | cut -f 1 | grep -qxF -e \"$1\"; }
random() { od -An -tx1 -N32 /dev/urandom | tr -d ' \\n'; echo; }
";

const CERTIFICATES: &str = "\
# A user who logs in by a certificate alone.
user() {
    has_user \"$1\" && return
    random | ctl add_user \"$1\"
    ctl clear_password \"$1\"
}
";

const PASSWORDS: &str = "\
# A user who logs in by a password, which is in a file.
user() {
    has_user \"$1\" && return
    file=$passwords/$1.password
    [ -s \"$file\" ] || (umask 077 && mkdir -p \"$passwords\" && random >\"$file\")
    ctl add_user \"$1\" <\"$file\"
}
";

/// The script.
pub(super) fn script(plan: &ProvisionPlan, login: Login) -> Result<String, Failure> {
    let names = plan.users.iter().map(|user| user.name.as_str()).chain([plan.vhost.as_str()]);
    if let Some(name) = names.into_iter().find(|name| name.starts_with('-')) {
        return Err(Failure::usage(format!("{name}: rabbitmqctl takes it for an option: give --management")));
    }
    let mut script = BEGIN.to_owned();
    match login {
        Login::Certificates => script.push_str(CERTIFICATES),
        Login::Passwords(folder) => {
            let folder =
                folder.to_str().ok_or_else(|| Failure::usage("--passwords: the path is not UTF-8"))?;
            script += &format!("passwords={}\n{PASSWORDS}", quoted(folder));
        }
    }
    let vhost = quoted(&plan.vhost);
    // Writing to a text cannot fail.
    let mut line = |line: std::fmt::Arguments| {
        let _ = writeln!(script, "{line}");
    };
    line(format_args!(
        "\nctl list_vhosts --no-table-headers | grep -qxF -e {vhost} || ctl add_vhost {vhost}"
    ));
    for user in &plan.users {
        let (name, rights) = (quoted(&user.name), &user.rights);
        let [configure, write, read] =
            [&rights.configure, &rights.write, &rights.read].map(|right| quoted(right));
        let [write_key, read_key] = [&rights.write_key, &rights.read_key].map(|right| quoted(right));
        line(format_args!("\nuser {name}"));
        line(format_args!("ctl set_permissions -p {vhost} {name} {configure} {write} {read}"));
        line(format_args!(
            "ctl set_topic_permissions -p {vhost} {name} {} {write_key} {read_key}",
            quoted(rights.exchange)
        ));
    }
    Ok(script)
}

/// A text as one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
