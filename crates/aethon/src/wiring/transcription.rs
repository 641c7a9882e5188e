//! Builds the transcription of voice messages from `[transcription]`, with its price.

use std::sync::Arc;
use std::time::Duration;

use aethon_agent::Meter;
use aethon_config::Config;
use aethon_core::feature::{Feature, FeatureState};
use aethon_core::ledger::Price;
use aethon_core::model::Readiness;
use aethon_core::transcribe::Transcriber;
use aethon_providers::{Catalog, Options};

use crate::transcription::MeteredTranscriber;

/// The bare service, if configured: its cost is not booked.
pub(crate) fn service(config: &Config) -> Option<Arc<dyn Transcriber>> {
    let options = options(config)?;
    Some(aethon_providers::transcriber(options, &config.transcription.language))
}

fn options(config: &Config) -> Option<Options> {
    let section = &config.transcription;
    let mut options = Options::new(section.provider?, &section.model_id);
    options.api_key = section.key().clone();
    options.connection.key_remark = section.key_remark().map(str::to_owned);
    options.host.clone_from(&section.host);
    options.connection.allow_http = section.allow_http;
    options.connection.timeout = Some(Duration::from_secs(section.timeout_seconds));
    Some(options)
}

/// The service behind the meter.
pub(crate) fn transcriber(config: &Config, catalog: &Catalog, meter: &Meter) -> Option<Arc<dyn Transcriber>> {
    let service = service(config)?;
    let price = listed(config, catalog, service.model());
    Some(Arc::new(MeteredTranscriber { service, meter: meter.clone(), price }))
}

/// The catalogue's price at the address used. A service on this machine is free unless the owner states a price.
pub(crate) fn listed(config: &Config, catalog: &Catalog, name: &str) -> Option<Price> {
    let (_, model) = name.split_once('/')?;
    let section = &config.transcription;
    let is_local = aethon_providers::is_local(&options(config)?);
    catalog.speech_price(section.provider?, model, &section.host).or(is_local.then_some(Price::FREE))
}

/// The row that says what happens to voice messages.
pub(crate) fn feature(config: &Config) -> Feature {
    let row = ("transcription", "Voice messages");
    let key = "transcription.provider";
    match service(config) {
        None => Feature::new(row, FeatureState::Off, "voice messages are not transcribed", key),
        Some(service) => match service.readiness() {
            Readiness::Ready => Feature::on(row.0, row.1, format!("transcribed by {}", service.model()), key),
            Readiness::NotConfigured(hint) => Feature::new(
                row,
                FeatureState::Degraded,
                format!("{} is not set up: {hint}", service.model()),
                key,
            ),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_models_have_no_list_price() {
        let price = |host: &str, model: &str| {
            let mut config = Config::default();
            config.transcription.provider = Some(aethon_providers::Provider::OpenAi);
            config.transcription.host = host.into();
            config.transcription.model_id = model.into();
            let service = service(&config).unwrap();
            listed(&config, &Catalog::built_in(), service.model())
        };
        let is_listed = |host: &str, model: &str| price(host, model).is_some_and(|price| !price.is_free());
        assert!(is_listed("", ""), "the usual model needs no price from the owner");
        assert!(is_listed("https://api.groq.com/openai/v1", "whisper-large-v3-turbo"));
        assert_eq!(price("http://127.0.0.1:8000/v1", "whisper-1"), Some(Price::FREE));
        assert_eq!(price("https://192.168.1.5:8000/v1", "whisper-1"), None);
    }
}
