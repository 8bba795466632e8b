//! `edison controller provision` at a broker that speaks TLS alone, and at one in clear: what it makes, twice and by either way, and what
//! each user may do then.

use crate::support::broker::{Broker, free_ports, script};
use crate::support::program::{Ended, Running, edison, run};
use crate::support::scratch::{Scratch, text};
use crate::support::waiting::{api_get, until};
use lapin::message::BasicGetMessage;
use lapin::options::*;
use lapin::types::FieldTable;
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties, ExchangeKind};
use serde_json::Value;
use std::future::Future;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// All that it has been told, without what users are known by.
fn all_definitions(broker: &Broker) -> Value {
    let text = broker.ctl(&["export_definitions", "-", "--format", "json"]);
    let mut all: Value = serde_json::from_str(&text).expect("JSON");
    for user in all["users"].as_array_mut().expect("users") {
        // Whether there is a password counts.
        let has_password = user["password_hash"].as_str().is_some_and(|hash| !hash.is_empty());
        user["password_hash"] = has_password.into();
    }
    for part in all.as_object_mut().expect("parts").values_mut() {
        if let Some(list) = part.as_array_mut() {
            list.sort_by_key(Value::to_string);
        }
    }
    all
}

fn provision(config: &Path, words: &[&str]) -> Ended {
    run(provisioning(config, words).env("EDISON_MANAGEMENT_PASSWORD", "guest"))
}

fn provisioning(config: &Path, words: &[&str]) -> Command {
    let mut call = edison();
    call.args(["controller", "provision", "--config", text(config)])
        .args(words)
        .env("EDISON_MANAGEMENT_USER", "guest");
    call
}

fn lines(text: &str, word: &str) -> usize {
    text.lines().filter(|line| line.starts_with(word)).count()
}

#[test]
fn certificates_and_least_rights() {
    let scratch = Scratch::new();
    let tls = scratch.path("tls");
    run(edison().arg("authority").arg(&tls).args(["Node1", "Node 2", "stranger"])).expect(0);
    let broker = Broker::start(&scratch, &["--tls", text(&tls), "--certificates"]);
    let file = |name: &str| text(&tls.join(name)).to_owned();
    let settings = |user: &str, node: &str| {
        let port = broker.port;
        format!(
            "broker = \"amqps://{user}@127.0.0.1:{port}/site\"\nca = \"{}\"\ncertificate = \"{}\"\nkey-file = \"{}\"\nevery = \"1s\"\n",
            file("ca.pem"),
            file(&format!("{node}.pem")),
            file(&format!("{node}.key"))
        )
    };
    let web = free_ports(1);
    let config = scratch.file(
        "controller.toml",
        format!(
            "{}nodes = [\"Node1\", \"Node 2\"]\nstate = \"{}\"\nlisten = \"127.0.0.1:{web}\"\n",
            settings("controller", "controller"),
            text(&scratch.path("state.db"))
        ),
    );
    let url = format!("https://127.0.0.1:{}", broker.management);
    let first =
        provision(&config, &["--certificates", "--management", &url]).says(0, &["user guest is there"]);
    // The host, three exchanges, four queues with their bindings, three users with rights and keys.
    assert_eq!(
        (lines(&first.stdout, "made "), lines(&first.stdout, "is there")),
        (21, 0),
        "{}",
        first.stdout
    );
    let definitions = all_definitions(&broker);
    let second = provision(&config, &["--certificates", "--management", &url]).expect(0).stdout;
    assert_eq!((lines(&second, "made "), lines(&second, "is there")), (0, 17), "{second}");
    assert_eq!(all_definitions(&broker), definitions);
    let users = definitions["users"].as_array().expect("users");
    let known = users.iter().filter(|user| user["password_hash"] == true).map(|user| &user["name"]);
    assert_eq!(known.collect::<Vec<_>>(), ["guest"]);

    // The calls of rabbitmqctl, each of which takes a while, make the same of users and rights.
    let one = format!("{}nodes = [\"Node 2\"]\n", settings("controller", "controller"));
    let printed = provision(&scratch.file("one.toml", one), &["--certificates"]).expect(0).stdout;
    let shell = scratch.file("setup.sh", &printed);
    for user in ["controller", "Node 2"] {
        broker.ctl(&["delete_user", user]);
    }
    assert_ne!(all_definitions(&broker), definitions);
    for _ in 0..2 {
        let rabbitmqctl = format!("{} ctl {}", text(&script()), text(&broker.dir));
        run(Command::new("sh").arg(&shell).env("RABBITMQCTL", rabbitmqctl)).expect(0);
        assert_eq!(all_definitions(&broker), definitions);
    }

    // The programs over TLS, by their certificates alone.
    let controller = Running::start(edison().args(["controller", "--config", text(&config)]));
    let probe = |node: &str, user: &str| {
        let settings =
            format!("{}node = \"{node}\"\ninterface = [\"lo\"]\nmemory = \"64MiB\"\n", settings(user, user));
        let file = scratch.file(&format!("{node}.toml"), settings);
        Running::start(edison().args(["probe", "--config", text(&file)]))
    };
    let running = [probe("Node1", "Node1"), probe("Node 2", "Node 2")];
    let status = || api_get(web, "/status");
    until("both nodes", || {
        let status = status()?;
        let nodes = status["nodes"].as_array()?;
        nodes.iter().all(|node| node["state"] == "up").then_some(())
    });
    assert_eq!(status().expect("a status")["refused"], serde_json::json!({}));
    drop(running);
    // Another's certificate does not make a node; a user whom nobody has set up does not get in.
    for (node, user, words) in [
        ("Node1", "Node 2", "ACCESS_REFUSED"),
        ("stranger", "stranger", "refuses the certificate of user \"stranger\""),
    ] {
        let mut probe = probe(node, user);
        let said = |probe: &Running| probe.said().iter().any(|line| line.contains(words));
        assert!(probe.wait_for(words, said), "{:?}", probe.said());
    }
    drop(controller);
}

/// A client that is none of ours.
async fn client(port: u16, user: &str, password: &str) -> Connection {
    let url = format!("amqp://{user}:{password}@127.0.0.1:{port}");
    Connection::connect(&url, ConnectionProperties::default()).await.expect("a connection")
}

/// What the broker says to something that it refuses, on a channel of its own: it closes that.
async fn refuses<T, F: Future<Output = lapin::Result<T>>>(
    connection: &Connection,
    what: &str,
    words: &str,
    ask: impl FnOnce(Channel) -> F,
) {
    let channel = connection.create_channel().await.expect("a channel");
    match ask(channel).await {
        Ok(_) => panic!("{what} is allowed"),
        Err(error) => assert!(error.to_string().contains(words), "{what}: {error}"),
    }
}

/// Publishes, and waits for what the broker says.
async fn publish(channel: Channel, exchange: &str, key: &str, user: Option<&str>) -> lapin::Result<()> {
    channel.confirm_select(ConfirmSelectOptions::default()).await?;
    let mut properties = BasicProperties::default();
    if let Some(user) = user {
        properties = properties.with_user_id(user.into());
    }
    let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
    let confirm = channel.basic_publish(exchange.into(), key.into(), options, b"x", properties).await?;
    confirm.await?;
    Ok(())
}

/// Takes a message.
async fn get(channel: Channel, queue: &str) -> lapin::Result<Option<BasicGetMessage>> {
    channel.basic_get(queue.into(), BasicGetOptions::default()).await
}

/// All that a probe may not do.
async fn try_all(port: u16, password: &str) {
    let connection = client(port, "Node1", password).await;
    let ours = &connection;
    let channel = async || ours.create_channel().await.expect("a channel");
    let (table, denied) = (FieldTable::default, "ACCESS_REFUSED");
    // What it needs.
    publish(channel().await, "edison.results", "Node1", Some("Node1")).await.expect("its own results");
    get(channel().await, "edison.tasks.Node1").await.expect("its own tasks");
    let passive = ExchangeDeclareOptions { passive: true, ..ExchangeDeclareOptions::default() };
    let declared = channel()
        .await
        .exchange_declare("edison.results".into(), ExchangeKind::Topic, passive, table())
        .await;
    declared.expect("a look at the exchange");
    // Nothing else.
    for (exchange, key) in [
        ("edison.results", "Node2"),
        ("edison.results", "#"),
        ("edison.results", "Node1.Node2"),
        ("edison.results", "XNode1"),
        ("edison.tasks", "Node1"),
        ("edison.dead", ""),
        ("", "edison.results"),
        ("", "edison.tasks.Node2"),
        ("amq.topic", "Node1"),
    ] {
        refuses(ours, &format!("{exchange} {key}"), denied, |channel| publish(channel, exchange, key, None))
            .await;
    }
    refuses(ours, "a forged user", "PRECONDITION_FAILED", |channel| {
        publish(channel, "edison.results", "Node1", Some("Node2"))
    })
    .await;
    for queue in ["edison.tasks.Node2", "edison.results", "edison.dead"] {
        refuses(ours, queue, denied, |channel| get(channel, queue)).await;
        refuses(ours, queue, denied, async |channel: Channel| {
            channel.basic_consume(queue.into(), "x".into(), BasicConsumeOptions::default(), table()).await
        })
        .await;
        refuses(ours, queue, denied, async |channel: Channel| {
            channel.queue_purge(queue.into(), QueuePurgeOptions::default()).await
        })
        .await;
    }
    for queue in ["edison.tasks.Node1", "edison.tasks.Node2", "edison.results", "mine"] {
        refuses(ours, queue, denied, async |channel: Channel| {
            let options = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
            channel.queue_declare(queue.into(), options, table()).await
        })
        .await;
        if queue != "mine" {
            refuses(ours, queue, denied, async |channel: Channel| {
                channel.queue_delete(queue.into(), QueueDeleteOptions::default()).await
            })
            .await;
        }
    }
    for exchange in ["edison.results", "mine"] {
        refuses(ours, exchange, denied, async |channel: Channel| {
            let options = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
            channel.exchange_declare(exchange.into(), ExchangeKind::Topic, options, table()).await
        })
        .await;
    }
    refuses(ours, "deleting an exchange", denied, async |channel: Channel| {
        channel.exchange_delete("edison.results".into(), ExchangeDeleteOptions::default()).await
    })
    .await;
    refuses(ours, "binding", denied, async |channel: Channel| {
        let (queue, exchange) = ("edison.tasks.Node1".into(), "edison.results".into());
        channel.queue_bind(queue, exchange, "#".into(), QueueBindOptions::default(), table()).await
    })
    .await;
    ours.close(200, "done".into()).await.expect("a good end");
}

#[test]
fn passwords_and_least_rights() {
    let scratch = Scratch::new();
    let broker = Broker::start(&scratch, &[]);
    let secrets = scratch.path("secrets");
    let web = free_ports(1);
    let settings = |nodes: &str| {
        format!(
            "broker = \"amqp://join@127.0.0.1:{}\"\npassword-file = \"{}\"\nnodes = [{nodes}]\nevery = \"1s\"\nstate = \"{}\"\nlisten = \"127.0.0.1:{web}\"\n",
            broker.port,
            text(&secrets.join("join.password")),
            text(&scratch.path("state.db"))
        )
    };
    let config = scratch.file("controller.toml", settings("\"Node1\", \"Node2\""));
    let url = format!("http://127.0.0.1:{}", broker.management);
    let words = ["--passwords", text(&secrets), "--management", &url];
    let told = provision(&config, &words).expect(0);
    let password = |user: &str| {
        let path = secrets.join(format!("{user}.password"));
        assert_eq!(path.metadata().expect("a file").permissions().mode() & 0o777, 0o600);
        std::fs::read_to_string(path).expect("a file").trim().to_owned()
    };
    let users = ["join", "Node1", "Node2"];
    let passwords = users.map(password);
    assert!(
        passwords.iter().all(|password| password.len() == 64 && !told.stdout.contains(password.as_str()))
    );
    assert!(passwords[0] != passwords[1] && passwords[1] != passwords[2]);
    let definitions = all_definitions(&broker);
    assert_eq!(lines(&provision(&config, &words).expect(0).stdout, "made "), 0);
    assert_eq!((all_definitions(&broker), users.map(password)), (definitions.clone(), passwords.clone()));
    let shell = provision(&config, &["--passwords", text(&secrets)]).expect(0).stdout;
    assert!(passwords.iter().all(|password| !shell.contains(password.as_str())));

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(try_all(broker.port, &passwords[1]));

    // What a probe wrote that is no message of ours is refused, and so is a message in another's name: here by a controller that finds all
    // as it would have declared it.
    let controller = Running::start(edison().args(["controller", "--config", text(&config)]));
    let status = || api_get(web, "/status");
    until("what is refused", || status()?["refused"]["foreign"].as_u64());
    assert_eq!(all_definitions(&broker), definitions);
    drop(controller);

    // The shell's way: a new user has a password in its file, and the others keep theirs.
    let more = scratch.file("more.toml", settings("\"Node1\", \"Node2\", \"Node3\""));
    let third = scratch.file("third.toml", settings("\"Node3\""));
    let shell = provision(&third, &["--passwords", text(&secrets)]).expect(0).stdout;
    let rabbitmqctl = format!("{} ctl {}", text(&script()), text(&broker.dir));
    let file = scratch.file("setup.sh", shell);
    run(Command::new("sh").arg(file).env("RABBITMQCTL", rabbitmqctl)).expect(0);
    assert_eq!(users.map(password), passwords);
    runtime.block_on(async {
        let connection = client(broker.port, "Node3", &password("Node3")).await;
        connection.close(200, "done".into()).await.expect("a good end");
        // A queue that somebody else made.
        let guest = client(broker.port, "guest", "guest").await;
        let options = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
        let channel = guest.create_channel().await.expect("a channel");
        let declared =
            channel.queue_declare("edison.tasks.Node3".into(), options, FieldTable::default()).await;
        declared.expect("a queue");
        guest.close(200, "done".into()).await.expect("a good end");
    });
    broker.ctl(&["set_user_tags", "Node2", "monitoring"]);
    let words = ["--passwords", text(&secrets), "--management", &url];
    let differs = provision(&more, &words).says(1, &["what differs is not changed"]).stdout;
    assert_eq!(lines(&differs, "differs"), 2, "{differs}");
    assert!(differs.contains("queue edison.tasks.Node3: x-max-length is null, not 1"), "{differs}");
    assert!(differs.contains("user Node2") && differs.contains("monitoring"), "{differs}");

    // What is wrong with the API is told, and never who asks by which password.
    let at = |url: &str| provisioning(&config, &["--passwords", text(&secrets), "--management", url]);
    run(at(&url).env("EDISON_MANAGEMENT_PASSWORD", "secret"))
        .says(1, &["refuses user \"guest\" or the password"]);
    run(&mut at(&url)).says(2, &["EDISON_MANAGEMENT_PASSWORD"]);
    let file = scratch.file("guest.password", "guest\n");
    run(at(&url).args(["--password-file", text(&file)])).says(2, &["guest.password", "chmod 600"]);
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).expect("own file");
    run(at(&url).args(["--password-file", text(&file)])).expect(1).says(1, &["what differs"]);
    run(at(&format!("http://127.0.0.1:{}", broker.port)).env("EDISON_MANAGEMENT_PASSWORD", "x"))
        .says(1, &["management API"]);
}

#[test]
fn settings_that_are_wrong_are_named() {
    let scratch = Scratch::new();
    let config = |broker: &str, nodes: &str| {
        scratch.file("controller.toml", format!("broker = \"{broker}\"\nnodes = [{nodes}]\n"))
    };
    let good = config("amqps://controller@127.0.0.1", "\"Node1\"");
    for (words, said) in [
        (
            ["--certificates", "--management", "http://a:secret@127.0.0.1"].as_slice(),
            "EDISON_MANAGEMENT_USER",
        ),
        (&["--certificates", "--management", "http://192.0.2.1:15672"], "say https://"),
        (&["--certificates", "--management", "https://127.0.0.1:15671"], "'ca'"),
        (&["--certificates", "--management", "ftp://127.0.0.1"], "http://HOST:PORT"),
        (&["--certificates", "--management", "no url"], "no URL"),
    ] {
        let ended = provision(&good, words).says(2, &["--management", said]);
        assert!(!ended.stderr.contains("secret"), "{}", ended.stderr);
    }
    provision(&good, &[]).says(2, &["--certificates"]);
    provision(&good, &["--certificates", "--passwords", "x"]).says(2, &["--passwords"]);
    for (broker, nodes, said) in [
        ("amqps://127.0.0.1", "\"Node1\"", "name a user for the controller"),
        ("amqps://guest@127.0.0.1", "\"Node1\"", "name a user for the controller"),
        ("amqps://Node1@127.0.0.1", "\"Node1\"", "somebody else's"),
        ("amqps://join@127.0.0.1", "\"guest\"", "somebody else's"),
        ("amqps://join@127.0.0.1", "", "'nodes' is missing"),
    ] {
        provision(&config(broker, nodes), &["--certificates"]).says(2, &[said]);
    }
    let odd = config("amqps://join@127.0.0.1", "\"../a\"");
    provision(&odd, &["--passwords", text(&scratch.path("secrets"))]).says(2, &["no '/'"]);
    let option = config("amqps://join@127.0.0.1", "\"-p\"");
    provision(&option, &["--certificates"]).says(2, &["--management"]);
    // A shell takes names as they are.
    let odd = config("amqps://join@127.0.0.1", "\"a'; touch /tmp/x; '$(b)\"");
    let shell = provision(&odd, &["--certificates"]).expect(0).stdout;
    assert!(shell.contains(r"user 'a'\''; touch /tmp/x; '\''$(b)'"), "{shell}");

    // TLS in the settings of probes.
    let key = scratch.file("key.pem", "no key");
    let ca = scratch.file("ca.pem", "no certificate");
    let (key, ca) = (text(&key), text(&ca));
    for (lines, said) in [
        (String::new(), "'ca' is missing"),
        (format!("ca = \"{ca}\"\n"), "no certificate in it"),
        (format!("ca = \"{ca}.missing\"\n"), "'ca': "),
        (format!("ca = \"{ca}\"\ncertificate = \"{ca}\"\n"), "'key-file' is missing"),
        (format!("ca = \"{ca}\"\nkey-file = \"{ca}\"\n"), "'certificate' is missing"),
        (format!("certificate = \"{ca}\"\nkey-file = \"{ca}\"\n"), "'ca' is missing"),
        (format!("ca = \"{ca}\"\ncertificate = \"{ca}\"\nkey-file = \"{key}\"\n"), "chmod 600"),
    ] {
        let file = scratch.file("probe.toml", format!("broker = \"amqps://A@127.0.0.1\"\n{lines}"));
        run(edison().args(["probe", "--config", text(&file)])).says(2, &["probe.toml", said]);
    }
}
