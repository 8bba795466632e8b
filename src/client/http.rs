//! Requests to the API of a controller.

use super::credentials;
use crate::commands::ApiOptions;
use runtime::exit::Failure;
use runtime::trust;
use serde_json::Value as Json;
use std::io::Read;
use std::time::Duration;
use ureq::http::{Response, StatusCode};
use ureq::{Agent, Body, RequestBuilder};

/// The longest time that a controller may take to answer.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The largest answer that is read, bytes.
const MOST_READ: u64 = 256 << 20;

/// The API of a controller.
pub(crate) struct Api {
    address: String,
    agent: Agent,
    /// The value of the header that shows the token.
    authorization: Option<String>,
}

impl Api {
    pub(super) fn new(options: &ApiOptions) -> Result<Self, Failure> {
        Self::patient(options, TIMEOUT)
    }

    /// Makes a client whose controller may take so long to answer.
    pub(crate) fn patient(options: &ApiOptions, patience: Duration) -> Result<Self, Failure> {
        let address = options.controller.trim_end_matches('/');
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            // The API is where it is: a token goes nowhere else.
            .max_redirects(0)
            .max_redirects_will_error(false)
            // The controller is on this machine, or at the end of TLS.
            .proxy(None)
            .timeout_connect(Some(patience.min(TIMEOUT)))
            .timeout_recv_response(Some(patience))
            .timeout_recv_body(Some(patience));
        if credentials::is_tls(address)? {
            config = config.tls_config(trust::tls(options.ca.as_deref(), "--ca")?);
        }
        let authorization = credentials::authorization(options)?;
        Ok(Self { address: address.to_owned(), agent: config.build().into(), authorization })
    }

    /// The request with the token.
    fn known<B>(&self, request: RequestBuilder<B>) -> RequestBuilder<B> {
        match &self.authorization {
            Some(value) => request.header("Authorization", value),
            None => request,
        }
    }

    /// The address, without a slash at its end.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    fn url(&self, path: &str) -> String {
        format!("{}/api/v1{path}", self.address)
    }

    /// Returns what the API has at this path.
    pub(super) fn get(&self, path: &str) -> Result<Json, Failure> {
        self.get_with(path, &[])
    }

    /// Returns what the API has at this path with these parameters.
    pub(super) fn get_with(&self, path: &str, parameters: &[(&str, String)]) -> Result<Json, Failure> {
        let request = self.known(self.agent.get(self.url(path)));
        let parameters = parameters.iter().map(|(name, value)| (*name, value.as_str()));
        self.read(request.query_pairs(parameters).call())
    }

    /// Sends a text.
    pub(crate) fn post(
        &self,
        path: &str,
        parameters: &[(&str, String)],
        text: &str,
    ) -> Result<Json, Failure> {
        let request = self.agent.post(self.url(path)).content_type("text/plain; charset=utf-8");
        let request = self.known(request);
        let parameters = parameters.iter().map(|(name, value)| (*name, value.as_str()));
        self.read(request.query_pairs(parameters).send(text))
    }

    /// Removes what is at this path.
    pub(super) fn delete(&self, path: &str) -> Result<Json, Failure> {
        self.read(self.known(self.agent.delete(self.url(path))).call())
    }

    /// A stream of server-sent events; `most`: it ends with an error after so long.
    pub(super) fn stream(&self, most: Option<Duration>) -> Result<impl Read + use<>, Failure> {
        let request = self.known(self.agent.get(self.url("/stream")));
        let called = request.config().timeout_recv_body(most).build().call();
        let response = called.map_err(|error| self.away(&error))?;
        if !response.status().is_success() {
            return Err(self.refused(response));
        }
        Ok(response.into_body().into_reader())
    }

    fn read(&self, called: Result<Response<Body>, ureq::Error>) -> Result<Json, Failure> {
        let response = called.map_err(|error| self.away(&error))?;
        if !response.status().is_success() {
            return Err(self.refused(response));
        }
        let text = response.into_body().into_with_config().limit(MOST_READ).read_to_string();
        let text = text.map_err(|error| self.away(&error))?;
        serde_json::from_str(&text).map_err(|error| {
            Failure::fault(format!("{}: this is not the API of a controller: {error}", self.address))
        })
    }

    fn away(&self, error: &ureq::Error) -> Failure {
        let reason = error.to_string().replace('\n', " ");
        // Every word of rustls about a certificate begins so.
        if let Some((_, why)) = reason.split_once("invalid peer certificate: ") {
            return Failure::usage(format!(
                "{}: its certificate is not believed: {why}; --ca FILE has the authorities that signed it",
                self.address
            ));
        }
        Failure::fault(format!("{}: the controller does not answer: {reason}; is it running?", self.address))
    }

    /// Returns the failure for what the controller refuses: the fault of who asks, or its own.
    fn refused(&self, response: Response<Body>) -> Failure {
        let status = response.status();
        let text = response.into_body().into_with_config().limit(MOST_READ).read_to_string();
        let json: Option<Json> = text.ok().and_then(|text| serde_json::from_str(&text).ok());
        let error = json.as_ref().and_then(|json| json.get("error")?.as_str());
        let line = match error {
            Some(error) if status == StatusCode::UNAUTHORIZED => {
                format!("{}: {error}; --token-file FILE or EDISON_TOKEN shows it", self.address)
            }
            Some(error) => error.to_owned(),
            None => format!("{}: this is not the API of a controller: it says {status}", self.address),
        };
        if status.is_client_error() { Failure::usage(line) } else { Failure::fault(line) }
    }
}
