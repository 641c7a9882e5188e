//! The files of a message: which are accepted, and what is said about those that are not.

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

/// What the files of a message contained.
#[derive(Clone, Default)]
pub(super) struct Taken {
    /// Files to show to the model.
    pub(super) files: Vec<Attachment>,
    /// Transcripts of voice messages.
    pub(super) spoken: Vec<String>,
    /// Transcripts of other people's voice messages that the message answers.
    pub(super) spoken_by_others: Vec<String>,
    /// Notes on files that were not accepted.
    pub(super) notes: Vec<String>,
}

/// Fetches the files of a message, while it is still wanted.
pub(super) async fn taken(
    outlet: &RateLimitedSender,
    arrival: &Arrival,
    is_wanted: &(dyn Fn() -> bool + Sync),
) -> Taken {
    let mut taken = Taken::default();
    for offer in arrival.files.iter().take(MAX_FILES) {
        if let Err(note) = take(outlet, offer, is_wanted, &mut taken).await {
            taken.notes.push(note);
        }
    }
    if arrival.files.len() > MAX_FILES {
        taken.notes.push(format!("I took the first {MAX_FILES} files."));
    }
    taken
}

async fn take(
    outlet: &RateLimitedSender,
    offer: &RemoteFile,
    is_wanted: &(dyn Fn() -> bool + Sync),
    taken: &mut Taken,
) -> Result<(), String> {
    let bytes = fetched(outlet, offer).await?;
    let Some(transcriber) = speech::transcriber(outlet, offer) else {
        let mut file = Attachment::new(offer.name.clone(), offer.mime.clone(), STANDARD.encode(bytes));
        file.untrusted = offer.is_quoted;
        taken.files.push(file);
        return Ok(());
    };
    let words = speech::words(outlet, transcriber, (offer, bytes), is_wanted).await;
    let name = shown_name(&offer.name);
    let words = words.map_err(|why| format!("I could not make out what is said in {name}. {why}"))?;
    if offer.is_quoted { &mut taken.spoken_by_others } else { &mut taken.spoken }.push(words);
    Ok(())
}

async fn fetched(outlet: &RateLimitedSender, offer: &RemoteFile) -> Result<Vec<u8>, String> {
    if let Some(note) = refusal(outlet, offer) {
        return Err(note);
    }
    let bytes = outlet.platform.fetch(offer).await.map_err(|fault| {
        tracing::warn!(channel = outlet.channel(), error = fault.message(), "a file could not be fetched");
        format!("The file {} could not be fetched. Send it again, please.", shown_name(&offer.name))
    })?;
    if u64::try_from(bytes.len()).is_ok_and(|size| size > outlet.rules.max_file_bytes) {
        return Err(too_large(outlet, offer));
    }
    Ok(bytes)
}

/// Returns why a file is not even fetched, if so.
fn refusal(outlet: &RateLimitedSender, offer: &RemoteFile) -> Option<String> {
    if offer.size > outlet.rules.max_file_bytes {
        return Some(too_large(outlet, offer));
    }
    if is_readable(&offer.mime) || speech::transcriber(outlet, offer).is_some() {
        return None;
    }
    let name = shown_name(&offer.name);
    Some(format!("I cannot read {name} ({}); send a picture or a text file.", offer.mime))
}

fn too_large(outlet: &RateLimitedSender, offer: &RemoteFile) -> String {
    let (name, channel, megabytes) =
        (shown_name(&offer.name), outlet.channel(), outlet.rules.max_file_bytes >> 20);
    format!(
        "The file {name} is larger than {megabytes} MB (channels.{channel}.max_file_mb), so I did not take it."
    )
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
