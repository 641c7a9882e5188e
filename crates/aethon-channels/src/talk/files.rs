//! The files of a message: which are accepted, and the sentence about each of the others.

use std::collections::BTreeMap;

use aethon_core::document::DocumentKind;
use aethon_core::message::Attachment;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::outlet::RateLimitedSender;
use super::platform::{Arrival, RemoteFile};
use super::speech;

/// How many files of a message are accepted.
const MAX_FILES: usize = 10;

/// Returns whether any file must be fetched, which takes time.
pub(super) fn are_to_be_fetched(outlet: &RateLimitedSender, arrival: &Arrival) -> bool {
    arrival.files.iter().any(|offer| refusal(outlet, offer).is_none())
}

/// The content of a message's files.
#[derive(Debug, Clone, Default)]
pub(super) struct Taken {
    /// Files to show to the model.
    pub(super) files: Vec<Attachment>,
    /// Transcripts of voice messages.
    pub(super) spoken: Vec<String>,
    /// Transcripts of other people's voice messages that the message answers.
    pub(super) spoken_by_others: Vec<String>,
}

/// The content of an act's files.
#[derive(Debug, Clone, Default)]
pub(super) struct TakenAct {
    /// One for each of its messages.
    pub(super) parts: Vec<Taken>,
    /// Notes on files that were not accepted.
    pub(super) notes: Vec<String>,
}

/// What became of a file.
#[derive(Debug, Clone)]
enum Outcome {
    File(Attachment),
    Spoken(String),
    Refused(Refusal),
}

/// Why a file was not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Refusal {
    /// It is too large.
    TooLarge,
    /// No model could be shown a file of this type.
    Unreadable(String),
    /// Something else, as a sentence.
    Other(String),
}

/// The files of an act that were fetched already. An act may grow while its files are being fetched, and transcripts cost
/// money.
#[derive(Default)]
pub(super) struct Fetched(BTreeMap<String, Outcome>);

/// Fetches the files of an act, while it is still wanted.
pub(super) async fn taken(
    outlet: &RateLimitedSender,
    parts: &[Arrival],
    fetched: &mut Fetched,
    is_wanted: &(dyn Fn() -> bool + Sync),
) -> TakenAct {
    let (mut act, mut refused, mut count) = (TakenAct::default(), Vec::new(), 0_usize);
    for part in parts {
        let mut taken = Taken::default();
        for offer in &part.files {
            count += 1;
            if count > MAX_FILES {
                continue;
            }
            let key = format!("{} {}", offer.size, offer.handle);
            let outcome = match fetched.0.get(&key) {
                Some(outcome) => outcome.clone(),
                None => {
                    let outcome = take(outlet, offer, is_wanted).await.unwrap_or_else(Outcome::Refused);
                    fetched.0.insert(key, outcome.clone());
                    outcome
                }
            };
            match outcome {
                Outcome::File(file) => {
                    taken.files.push(Attachment { untrusted: file.untrusted || offer.is_quoted, ..file });
                }
                Outcome::Spoken(words) if offer.is_quoted => taken.spoken_by_others.push(words),
                Outcome::Spoken(words) => taken.spoken.push(words),
                Outcome::Refused(refusal) => refused.push((shown_name(&offer.name), refusal)),
            }
        }
        act.parts.push(taken);
    }
    act.notes = notes(outlet, refused);
    if count > MAX_FILES {
        act.notes.push(format!("I took the first {MAX_FILES} files."));
    }
    act
}

async fn take(
    outlet: &RateLimitedSender,
    offer: &RemoteFile,
    is_wanted: &(dyn Fn() -> bool + Sync),
) -> Result<Outcome, Refusal> {
    let bytes = fetched(outlet, offer).await?;
    let Some(transcriber) = speech::transcriber(outlet, offer) else {
        let file = Attachment::new(offer.name.clone(), offer.mime.clone(), STANDARD.encode(bytes));
        return Ok(Outcome::File(file));
    };
    let words = speech::words(outlet, transcriber, (offer, bytes), is_wanted).await;
    let name = shown_name(&offer.name);
    let words = words.map_err(|why| format!("I could not transcribe {name}. {why}"));
    words.map(Outcome::Spoken).map_err(Refusal::Other)
}

/// Says which files were not accepted: one sentence for all with the same reason.
fn notes(outlet: &RateLimitedSender, refused: Vec<(String, Refusal)>) -> Vec<String> {
    let mut groups: Vec<(Refusal, Vec<String>)> = Vec::new();
    for (name, refusal) in refused {
        match groups.iter_mut().find(|(other, _)| *other == refusal) {
            Some((_, names)) => names.push(name),
            None => groups.push((refusal, vec![name])),
        }
    }
    let note = |(refusal, names): (Refusal, Vec<String>)| match (refusal, names.as_slice()) {
        (Refusal::Other(sentence), _) => sentence,
        (Refusal::TooLarge, names) => too_large(outlet, names),
        (Refusal::Unreadable(mime), names) => {
            format!("I cannot read {} ({mime}); send a picture, a document or a text file.", names.join(", "))
        }
    };
    groups.into_iter().map(note).collect()
}

async fn fetched(outlet: &RateLimitedSender, offer: &RemoteFile) -> Result<Vec<u8>, Refusal> {
    if let Some(refusal) = refusal(outlet, offer) {
        return Err(refusal);
    }
    let bytes = outlet.platform.fetch(offer).await.map_err(|fault| {
        tracing::warn!(channel = outlet.channel(), error = fault.message(), "a file could not be fetched");
        let name = shown_name(&offer.name);
        Refusal::Other(format!("The file {name} could not be fetched. Send it again, please."))
    })?;
    if u64::try_from(bytes.len()).is_ok_and(|size| size > outlet.rules.max_file_bytes) {
        return Err(Refusal::TooLarge);
    }
    Ok(bytes)
}

/// Returns why a file is not even fetched, if so.
fn refusal(outlet: &RateLimitedSender, offer: &RemoteFile) -> Option<Refusal> {
    if offer.size > outlet.rules.max_file_bytes {
        return Some(Refusal::TooLarge);
    }
    let is_document = DocumentKind::called(&offer.name, &offer.mime).is_some();
    if is_document || is_readable(&offer.mime) || speech::transcriber(outlet, offer).is_some() {
        return None;
    }
    Some(Refusal::Unreadable(offer.mime.clone()))
}

fn too_large(outlet: &RateLimitedSender, names: &[String]) -> String {
    let (channel, megabytes) = (outlet.channel(), outlet.rules.max_file_bytes >> 20);
    match names {
        [name] => format!(
            "The file {name} is larger than {megabytes} MB (channels.{channel}.max_file_mb), so I did not take it."
        ),
        names => format!(
            "The files {} are larger than {megabytes} MB each (channels.{channel}.max_file_mb), so I did not take them.",
            names.join(", ")
        ),
    }
}

/// Returns whether a model can be shown this type. The assistant makes the final check.
fn is_readable(mime: &str) -> bool {
    let mime = mime.to_ascii_lowercase();
    let is_picture = matches!(mime.as_str(), "image/png" | "image/jpeg" | "image/gif" | "image/webp");
    let is_text = mime.starts_with("text/")
        || ["json", "xml", "yaml", "toml", "javascript"].iter().any(|kind| {
            mime.strip_prefix("application/").is_some_and(|rest| rest.trim_start_matches("x-") == *kind)
        });
    is_picture || is_text
}

fn shown_name(name: &str) -> String {
    let name: String = name.chars().filter(|c| !c.is_control() && *c != '`').take(80).collect();
    format!("`{name}`")
}
