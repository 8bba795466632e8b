//! Where the page and the API are, and who may ask them.

use crate::deployment::settings::Settings;
use crate::exit::Failure;
use crate::quantity;
use std::path::Path;
use web::{Certificate, Tokens};

/// Takes them from the settings of a controller. Beyond loopback both TLS and tokens must be there.
pub(super) fn take(settings: &mut Settings) -> Result<web::Settings, Failure> {
    let listen = settings.value("listen", quantity::USUAL_ADDRESS, quantity::address)?;
    let tokens = settings.text("tokens")?;
    let (chain, key) = (settings.text("web-certificate")?, settings.text("web-key")?);
    let names = settings.list("web-names")?;
    if !listen.ip().is_loopback() {
        let keys = [("tokens", &tokens), ("web-certificate", &chain), ("web-key", &key)];
        let missing: Vec<&str> =
            keys.iter().filter(|(_, value)| value.is_none()).map(|(key, _)| *key).collect();
        if !missing.is_empty() {
            return Err(settings.wrong(format!(
                "'listen': {listen} is beyond loopback, which needs TLS and tokens: set {}, or listen on 127.0.0.1:{}",
                missing.join(", "),
                listen.port()
            )));
        }
    }
    let certificate = match (chain, key) {
        (Some(chain), Some(key)) => {
            let read = Certificate::read(Path::new(&chain), Path::new(&key));
            Some(read.map_err(|error| settings.wrong(format!("'web-certificate', 'web-key': {error}")))?)
        }
        (None, None) => None,
        _ => return Err(settings.wrong("'web-certificate' and 'web-key' go together: set both, or neither")),
    };
    let tokens = tokens.map(|path| {
        Tokens::open(Path::new(&path)).map_err(|error| settings.wrong(format!("'tokens': {error}")))
    });
    let tokens = tokens.transpose()?;
    Ok(web::Settings { names, certificate, tokens, ..web::Settings::new(listen) })
}
