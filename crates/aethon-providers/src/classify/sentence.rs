//! Describes a failure for a person: who failed, how, the remedy, and what the service said itself.

use std::time::Duration;

use aethon_core::model::ModelErrorKind;

use super::report::Report;
use crate::options::Provider;
use crate::service::Service;
use crate::transport::Failure;

use ModelErrorKind::{
    Auth, ContextLength, InvalidRequest, Malformed, Network, NotFound, Overloaded, Quota, RateLimit, Refused,
    Timeout,
};

/// How much of the service's own words is shown, in characters.
const MAX_QUOTE: usize = 200;

/// Describes a response that reports a failure.
pub(super) fn of(
    service: &Service,
    kind: ModelErrorKind,
    status: Option<u16>,
    report: &Report,
    wait: Option<Duration>,
) -> String {
    let title = service.title();
    let code = status.map(|status| format!(" ({status})")).unwrap_or_default();
    let sentence = match kind {
        Auth if service.provider == Provider::Bedrock => aws(service),
        Auth => auth(service, status),
        Quota => {
            let account = match service.server() {
                Some(server) => format!("The account at {server}"),
                None => format!("The {title} account"),
            };
            format!("{account} has no credit or quota left; add credit there, or set another model.api_key.")
        }
        RateLimit => {
            let when = wait.map_or("in a moment".to_owned(), |wait| format!("in {}", words(wait)));
            format!("{title} says that there are too many requests; try again {when}.")
        }
        ContextLength if status == Some(413) => format!(
            "The request is too large for {title} (413), or for a proxy in front of it: the conversation or its \
             attachments are too long; start a new one, or raise the limit there."
        ),
        ContextLength => format!(
            "The conversation is too long for {}; start a new one, or choose a model with a larger context window.",
            service.model
        ),
        Overloaded if report.is_page => format!(
            "A proxy in front of {title} at {} answered with an error page{code}; try again in a moment.",
            service.endpoint.base
        ),
        // Seen with a LiteLLM proxy that has a master key but receives none.
        Overloaded if service.provider == Provider::LiteLlm && service.key.is_empty() => format!(
            "{title} is overloaded or failing{code}; try again in a moment, or if it wants a key, {}.",
            service.how_to_set_key()
        ),
        Overloaded => format!("{title} is overloaded or failing{code}; try again in a moment."),
        Timeout => silent(service, service.timeout),
        NotFound => not_found(service, status, report),
        Refused => format!("{title} refuses this content; put it in other words."),
        InvalidRequest => {
            format!("{title} does not accept the request{code}; check model.model_id and model.extra.")
        }
        Malformed | Network => {
            format!("{title} gave an answer that cannot be understood{code}; check model.host, or try again.")
        }
    };
    capital(sentence) + &quoted(service, report)
}

/// Describes a model whose tools are accepted only by an API that the server lacks.
pub(super) fn tools_need_responses(service: &Service) -> String {
    let (title, model) = (service.title(), &service.model);
    capital(format!(
        "{title} accepts tools for {model} only at /responses, which it does not serve; set model.effort = \"none\", \
         with which it usually accepts them in chat completions, or choose another model."
    ))
}

fn auth(service: &Service, status: Option<u16>) -> String {
    let (title, remedy) = (service.title(), service.how_to_set_key());
    if service.key.is_empty() {
        let at = match service.server() {
            Some(_) => format!("The server at {}", service.endpoint.base),
            None => format!("{title} at {}", service.endpoint.base),
        };
        return format!("{at} wants a key; {remedy}.");
    }
    let remark = service.key_remark.as_ref().map(|remark| format!(" About the key: {remark}."));
    let remark = remark.unwrap_or_default();
    if status == Some(403) {
        let model = &service.model;
        return format!(
            "{title} does not let this key use {model}; check the key's rights and the region, or {remedy}.{remark}"
        );
    }
    format!("{title} does not accept the key; {remedy} to a valid one.{remark}")
}

fn aws(service: &Service) -> String {
    format!(
        "{} does not let these AWS credentials use {}; check them, the region, and the account's access to the model.",
        service.title(),
        service.model
    )
}

fn not_found(service: &Service, status: Option<u16>, report: &Report) -> String {
    let (title, model, base) = (service.title(), &service.model, &service.endpoint.base);
    if let Some(status @ 300..=399) = status {
        return format!(
            "{base} redirects elsewhere ({status}), which is not followed; set model.host to the final address."
        );
    }
    let names_model = report.words().contains("model");
    match service.provider {
        Provider::Ollama if names_model => {
            format!("Ollama has no model {model}; run `ollama pull {model}`, or change model.model_id.")
        }
        _ if names_model && !report.is_page => {
            format!(
                "{title} does not know the model {model}, or the key may not use it; check model.model_id."
            )
        }
        Provider::OpenAi if service.endpoint.is_own => {
            format!("{base} does not serve chat completions; check model.host, which usually ends in /v1.")
        }
        _ => format!("{base} is not the address of {title}; check model.host and model.model_id."),
    }
}

/// Returns whether the other side sent something else than TLS, by the words of the TLS library.
fn is_no_tls(cause: &str) -> bool {
    cause.contains("InvalidContentType")
}

/// Describes a failure below HTTP.
pub(super) fn of_failure(service: &Service, failure: &Failure) -> (ModelErrorKind, String) {
    let (title, base) = (service.title(), &service.endpoint.base);
    let network = |sentence: String| (Network, sentence);
    match failure {
        Failure::UnknownHost => {
            network(format!("{base} could not be found; check the network, and model.host if it is set."))
        }
        Failure::Refused if service.endpoint.is_loopback => {
            let server = match service.provider {
                Provider::Ollama | Provider::LiteLlm => title,
                _ => "the model server",
            };
            network(format!("Nothing answers at {base}; start {server} there, or correct model.host."))
        }
        Failure::Refused => {
            network(format!("{base} refuses connections; check model.host, or try again later."))
        }
        Failure::ConnectTimeout(limit) => network(format!(
            "{base} could not be reached within {}; check the network and model.host.",
            words(*limit)
        )),
        Failure::Silence(limit) => (Timeout, silent(service, *limit)),
        Failure::Tls(cause) if is_no_tls(cause) => network(format!(
            "What answers at {base} does not speak TLS; if it speaks plain http, begin model.host with http://."
        )),
        Failure::Tls(_) => network(format!(
            "No secure connection to {base} could be made; check that model.host is right and its certificate valid."
        )),
        Failure::NotHttp(_) => {
            (Malformed, format!("What answers at {base} does not speak HTTP; check model.host."))
        }
        Failure::Encoding(name) => (
            Malformed,
            format!(
                "{base} sends its answers compressed in a form that cannot be read ({name}); have it send them plain, or as gzip."
            ),
        ),
        Failure::Proxy(_) => network(format!(
            "The proxy set in the environment does not let the connection to {base} through; check HTTPS_PROXY."
        )),
        Failure::NoProxy(proxy) => network(format!(
            "The proxy at {proxy}, which is set in the environment, cannot be reached; start it, or correct HTTPS_PROXY."
        )),
        Failure::Broken(_) => network(format!("The connection to {title} broke; try again.")),
    }
}

fn silent(service: &Service, limit: Duration) -> String {
    capital(format!(
        "{} sent nothing for {}; try again, or raise model.timeout_seconds if it is only slow.",
        service.title(),
        words(limit)
    ))
}

/// Returns a sentence with the service's own words, as far as they may be shown; empty if it said nothing.
pub(super) fn quoted(service: &Service, report: &Report) -> String {
    if report.is_page {
        return String::new();
    }
    let message = service.redact(&report.message);
    let words: Vec<&str> = message.split_whitespace().map(unmasked_key).collect();
    let message = words.join(" ");
    if message.is_empty() {
        return String::new();
    }
    let quote = match message.char_indices().nth(MAX_QUOTE - 1) {
        Some((at, c)) if at + c.len_utf8() < message.len() => format!("{}…", &message[..at]),
        _ => message,
    };
    format!(" It says: \"{quote}\".")
}

/// Hides a key of which the service shows only the beginning and the end.
fn unmasked_key(word: &str) -> &str {
    if word.contains("**") { aethon_core::secret::MASK } else { word }
}

/// Capitalises the beginning of a sentence.
pub(super) fn capital(sentence: String) -> String {
    match sentence.strip_prefix("the ") {
        Some(rest) => format!("The {rest}"),
        None => sentence,
    }
}

/// Formats a duration for people.
fn words(time: Duration) -> String {
    let seconds = time.as_millis().div_ceil(1000).max(1);
    match seconds {
        1 => "a second".into(),
        2..120 => format!("{seconds} seconds"),
        120..7200 => format!("{} minutes", seconds.div_ceil(60)),
        7200..172_800 => format!("{} hours", seconds.div_ceil(3600)),
        _ => format!("{} days", seconds.div_ceil(86_400)),
    }
}
