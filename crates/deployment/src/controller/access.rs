//! The address of the page and the API, and who may ask them.

use crate::options::PageOptions;
use runtime::exit::Failure;
use web::{Certificate, Tokens};

/// Reads what they need. Beyond loopback both TLS and tokens must be there.
pub(super) fn read_settings(options: &PageOptions) -> Result<web::ServerSettings, Failure> {
    let PageOptions { listen, tokens, web_certificate: chain, web_key: key, web_names } = options;
    if !listen.ip().is_loopback() {
        let keys = [("tokens", tokens), ("web-certificate", chain), ("web-key", key)];
        let missing: Vec<&str> =
            keys.iter().filter(|(_, value)| value.is_none()).map(|(key, _)| *key).collect();
        if !missing.is_empty() {
            return Err(Failure::usage(format!(
                "'listen': {listen} is beyond loopback, which needs TLS and tokens: set {}, or listen on 127.0.0.1:{}",
                missing.join(", "),
                listen.port()
            )));
        }
    }
    let certificate = match (chain, key) {
        (Some(chain), Some(key)) => {
            let read = Certificate::read(chain, key);
            Some(read.map_err(|error| Failure::usage(format!("'web-certificate', 'web-key': {error}")))?)
        }
        (None, None) => None,
        _ => return Err(Failure::usage("'web-certificate' and 'web-key' go together: set both, or neither")),
    };
    let tokens = tokens
        .as_deref()
        .map(|path| Tokens::open(path).map_err(|error| Failure::usage(format!("'tokens': {error}"))));
    let tokens = tokens.transpose()?;
    Ok(web::ServerSettings {
        names: web_names.clone(),
        certificate,
        tokens,
        ..web::ServerSettings::new(*listen)
    })
}
