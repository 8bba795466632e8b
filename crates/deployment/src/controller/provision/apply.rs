//! Setting a broker up through its management API. What is there and is another thing is named, and stays.

use super::management::{Management, tags};
use super::plan::{GUEST, Login, ProvisionPlan, User};
use notation::encoded;
use protocol::amqp::{Argument, BrokerQueue, Exchange};
use runtime::exit::{self, FAULT, Failure, say};
use serde_json::{Map, Value as Json, json};
use std::fmt::Write;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

/// The random part of a password, bytes.
const PASSWORD_BYTES: usize = 32;

/// Sets the broker up, and says what was done.
pub(super) fn apply(
    plan: &ProvisionPlan,
    login: Login,
    management: &Management,
) -> Result<ExitCode, Failure> {
    management.check()?;
    let mut work =
        ProvisionRun { management, vhost: encoded(&plan.vhost), told: String::new(), differing: 0 };
    let done = work.apply_all(plan, login);
    // Also of what was done before something failed.
    let printed = exit::print(&work.told);
    done.and(printed)?;
    if management.has_guest()? {
        say(&format!(
            "user {GUEST} is there, and administrates the broker from its machine: when another administrator is, rabbitmqctl delete_user {GUEST}"
        ));
    }
    match work.differing {
        0 => Ok(ExitCode::SUCCESS),
        _ => {
            say("what differs is not changed: remove it, and run this again");
            Ok(ExitCode::from(FAULT))
        }
    }
}

struct ProvisionRun<'a> {
    management: &'a Management,
    /// The virtual host as it is in a path.
    vhost: String,
    told: String,
    differing: u64,
}

impl ProvisionRun<'_> {
    fn apply_all(&mut self, plan: &ProvisionPlan, login: Login) -> Result<(), Failure> {
        let path = format!("/vhosts/{}", self.vhost);
        let is_there = self.management.get(&path)?.is_some();
        self.put_unless_there(is_there, &path, &json!({}), &format!("virtual host {}", plan.vhost))?;
        plan.topology.exchanges.iter().try_for_each(|exchange| self.exchange(exchange))?;
        plan.topology.queues.iter().try_for_each(|queue| self.queue(queue))?;
        plan.users.iter().try_for_each(|user| self.user(user, login))
    }

    /// Writing to a text cannot fail.
    fn tell(&mut self, word: &str, what: &str) {
        let _ = writeln!(self.told, "{word:<8}  {what}");
    }

    fn put_unless_there(
        &mut self,
        is_there: bool,
        path: &str,
        body: &Json,
        what: &str,
    ) -> Result<(), Failure> {
        if !is_there {
            self.management.put(path, body)?;
        }
        self.tell(if is_there { "is there" } else { "made" }, what);
        Ok(())
    }

    /// Compares what is there with what should be, member by member.
    fn compare(&mut self, there: &Json, wanted: &Map<String, Json>, what: &str) {
        let differs = wanted.iter().find(|(name, value)| there.get(*name) != Some(*value));
        match differs {
            None => self.tell("is there", what),
            Some((name, value)) => {
                self.differing += 1;
                let found = there.get(name).unwrap_or(&Json::Null);
                self.tell("differs", &format!("{what}: {name} is {found}, not {value}"));
            }
        }
    }

    fn exchange(&mut self, exchange: &Exchange) -> Result<(), Failure> {
        let (path, what) =
            (format!("/exchanges/{}/{}", self.vhost, exchange.name), format!("exchange {}", exchange.name));
        let wanted = json!({"type": exchange.kind, "durable": true, "auto_delete": false, "internal": false, "arguments": {}});
        match (self.management.get(&path)?, &wanted) {
            (Some(there), Json::Object(wanted)) => {
                self.compare(&there, wanted, &what);
                Ok(())
            }
            _ => self.put_unless_there(false, &path, &wanted, &what),
        }
    }

    fn queue(&mut self, queue: &BrokerQueue) -> Result<(), Failure> {
        let BrokerQueue { name, arguments, exchange, key } = queue;
        let (path, what) = (format!("/queues/{}/{}", self.vhost, encoded(name)), format!("queue {name}"));
        let value = |argument: &Argument| match argument {
            Argument::Text(text) => json!(text),
            Argument::Number(number) => json!(number),
            Argument::Flag(flag) => json!(flag),
        };
        let arguments: Map<_, _> =
            arguments.iter().map(|(name, argument)| ((*name).to_owned(), value(argument))).collect();
        match self.management.get(&path)? {
            Some(there) => {
                let mut found = there["arguments"].as_object().cloned().unwrap_or_default();
                // A virtual host may have a usual type, which is written down then.
                if !arguments.contains_key("x-queue-type")
                    && found.get("x-queue-type") == Some(&json!("classic"))
                {
                    found.remove("x-queue-type");
                }
                let further = found.keys().find(|name| !arguments.contains_key(*name));
                let mut wanted = arguments.clone();
                further.map(|name| wanted.insert(name.clone(), Json::Null));
                self.compare(&Json::Object(found), &wanted, &what);
            }
            None => {
                let body = json!({"durable": true, "auto_delete": false, "arguments": arguments});
                self.put_unless_there(false, &path, &body, &what)?;
            }
        }
        let path = format!("/bindings/{}/e/{exchange}/q/{}", self.vhost, encoded(name));
        let bindings = self.management.get(&path)?.unwrap_or_default();
        let is_bound =
            bindings.as_array().into_iter().flatten().any(|binding| binding["routing_key"] == **key);
        if !is_bound {
            self.management.post(&path, &json!({"routing_key": key, "arguments": {}}))?;
            self.tell("made", &format!("binding of {name} to {exchange}"));
        }
        Ok(())
    }

    fn user(&mut self, user: &User, login: Login) -> Result<(), Failure> {
        let (name, rights) = (&user.name, &user.rights);
        let (path, what) = (format!("/users/{}", encoded(name)), format!("user {name}"));
        match self.management.get(&path)? {
            Some(there) => match tags(&there).as_slice() {
                [] => self.tell("is there", &what),
                tags => {
                    self.differing += 1;
                    self.tell(
                        "differs",
                        &format!("{what}: with its tags ({}) it may do more than it should", tags.join(", ")),
                    );
                }
            },
            None => {
                let body = match login {
                    // No password fits an empty hash.
                    Login::Certificates => json!({"password_hash": "", "tags": ""}),
                    Login::Passwords(folder) => json!({"password": password(folder, name)?, "tags": ""}),
                };
                self.put_unless_there(false, &path, &body, &what)?;
            }
        }
        let path = format!("/permissions/{}/{}", self.vhost, encoded(name));
        let wanted = json!({"configure": rights.configure, "write": rights.write, "read": rights.read});
        let there = self.management.get(&path)?.unwrap_or_default();
        self.right(&there, &path, wanted, &format!("rights of {name}"))?;
        let path = format!("/topic-permissions/{}/{}", self.vhost, encoded(name));
        let wanted = json!({"exchange": rights.exchange, "write": rights.write_key, "read": rights.read_key});
        let there = self.management.get(&path)?.unwrap_or_default();
        let there = there.as_array().into_iter().flatten().find(|there| there["exchange"] == rights.exchange);
        self.right(there.unwrap_or(&Json::Null), &path, wanted, &format!("keys of {name}"))
    }

    /// Rights are as they should be afterwards, whatever they were.
    fn right(&mut self, there: &Json, path: &str, wanted: Json, what: &str) -> Result<(), Failure> {
        let is_there = wanted
            .as_object()
            .is_some_and(|wanted| wanted.iter().all(|(name, value)| there.get(name) == Some(value)));
        self.put_unless_there(is_there, path, &wanted, what)
    }
}

/// The password of a new user, which is in its file afterwards.
fn password(folder: &Path, name: &str) -> Result<String, Failure> {
    let path = folder.join(format!("{name}.password"));
    let told = |error: std::io::Error| Failure::fault(format!("{}: {error}", path.display()));
    std::fs::create_dir_all(folder).map_err(told)?;
    // Of an attempt that ended before the broker had it.
    if path.symlink_metadata().is_ok() {
        let password = secret::password(&path).map_err(Failure::usage)?;
        return match password.is_empty() {
            true => Err(Failure::usage(format!("{}: there is no password in it: remove it", path.display()))),
            false => Ok(password),
        };
    }
    let mut bytes = [0; PASSWORD_BYTES];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut random| random.read_exact(&mut bytes))
        .map_err(Failure::fault)?;
    let password: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    secret::create(&path, &format!("{password}\n")).map_err(told)?;
    Ok(password)
}
