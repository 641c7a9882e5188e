//! Checks the key of a service before anything is sent to it.

use aethon_core::header_value::key_oddity;

use crate::endpoint::Endpoint;
use crate::headers;
use crate::options::{Options, Provider};
use crate::service::{self, how_to_set_key};

/// Reports a key that is missing, or that no header can hold, as a sentence.
pub(crate) fn check(options: &Options, endpoint: &Endpoint) -> Result<(), String> {
    let provider = options.provider;
    let (title, remedy) = (service::title(provider, endpoint), how_to_set_key(provider));
    if let Some(oddity) = key_oddity(options.api_key.expose()) {
        return Err(format!(
            "The key for {title} {oddity}, so it cannot be sent; {remedy} to the key alone."
        ));
    }
    headers::additional(&options.connection.headers)?;
    if headers::authorises(&options.connection.headers) {
        return Ok(());
    }
    if !options.api_key.is_empty() {
        let in_the_open = endpoint.base.starts_with("http:") && !endpoint.is_loopback;
        return match provider {
            Provider::Bedrock if in_the_open => {
                Err("A key for Amazon Bedrock is sent over https only; correct model.host.".into())
            }
            _ => Ok(()),
        };
    }
    // Without a usual variable there is no usual key: Ollama needs none, and Bedrock's requests are signed with
    // credentials that are looked up per request. A compatible server may need none; if it does, its refusal names
    // the one to set.
    if provider.key_variable().is_none() || (endpoint.is_own && provider.has_compatible_servers()) {
        return Ok(());
    }
    if endpoint.is_loopback && !endpoint.is_own {
        return Err(format!(
            "No address and no key are set for {title}; set model.host to its address, and if it wants a key, {remedy}."
        ));
    }
    Err(format!("No key is set for {title}; {remedy}."))
}
