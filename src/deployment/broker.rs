//! Where the broker is, and how the password comes to the program: from a file or the environment, never from the command line.

use crate::deployment::settings::Settings;
use crate::exit::Failure;
use protocol::amqp;

/// Takes the broker of a probe or a controller from its settings.
pub(super) fn take(settings: &mut Settings) -> Result<amqp::Broker, Failure> {
    let text = settings.required("broker", "the address of the broker, as \"amqp://USER@HOST:5672\"")?;
    let broker: amqp::Broker = text.parse().map_err(|error| settings.wrong(format!("'broker': {error}")))?;
    let file = settings.text("password-file")?;
    let password = match (file, std::env::var("EDISON_BROKER_PASSWORD")) {
        (Some(file), _) => {
            let text = std::fs::read_to_string(&file);
            let text = text.map_err(|error| settings.wrong(format!("'password-file': {file}: {error}")))?;
            Some(text.lines().next().unwrap_or_default().to_owned())
        }
        (None, Ok(password)) => Some(password),
        (None, Err(_)) => None,
    };
    let user = broker.user().to_owned();
    Ok(match password {
        Some(password) => broker.with_user(user, password),
        None => broker,
    })
}
