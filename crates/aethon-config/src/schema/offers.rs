//! Chooses the provider of a service other than answers: one that offers it in the table of `aethon_core::provider`, or none.

use aethon_core::provider::Provider;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

/// The word for no provider.
const NOBODY: &str = "none";

/// Returns the model with which a provider offers the service, if it does.
type Offer = fn(Provider) -> Option<&'static str>;

fn words(offer: Offer) -> Vec<&'static str> {
    let providers = Provider::ALL.iter().filter(|provider| offer(**provider).is_some());
    std::iter::once(NOBODY).chain(providers.map(|provider| provider.name())).collect()
}

fn read<'de, D: Deserializer<'de>>(deserializer: D, offer: Offer) -> Result<Option<Provider>, D::Error> {
    let word = String::deserialize(deserializer)?;
    if word.is_empty() || word == NOBODY {
        return Ok(None);
    }
    match Provider::from_name(&word).filter(|provider| offer(*provider).is_some()) {
        Some(provider) => Ok(Some(provider)),
        None => Err(D::Error::custom(format!("one of {}", words(offer).join(", ")))),
    }
}

fn write<S: Serializer>(provider: Option<Provider>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(provider.map_or(NOBODY, Provider::name))
}

/// Generates the module that serde and the schema need for one service.
macro_rules! offers {
    ($(#[$doc:meta])* $name:ident, $offer:path) => {
        $(#[$doc])*
        pub(crate) mod $name {
            use super::{Deserializer, Provider, Serializer};

            /// The allowed words.
            pub(crate) fn words() -> Vec<&'static str> {
                super::words($offer)
            }

            /// Reads one of the words; an empty one means none.
            pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
                deserializer: D,
            ) -> Result<Option<Provider>, D::Error> {
                super::read(deserializer, $offer)
            }

            /// Writes the word.
            pub(crate) fn serialize<S: Serializer>(
                provider: &Option<Provider>,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                super::write(*provider, serializer)
            }
        }
    };
}

offers! {
    /// Vectors for search by meaning.
    embedding, Provider::embedding_model
}
offers! {
    /// Voice messages into words.
    transcription, Provider::transcription_model
}
