//! The request and response formats of embedding services.

use serde_json::{Value, json};

use super::batch::Limits;
use crate::bedrock;
use crate::gemini;
use crate::headers;
use crate::options::Provider;
use crate::rules::bare_name;
use crate::service::Service;
use crate::transport::{Method, Outgoing};

/// A request format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// OpenAI, and LiteLLM's proxy.
    OpenAi,
    Mistral,
    Ollama,
    Gemini,
    /// Amazon's own models on Bedrock, one text per request.
    Titan,
    /// Cohere's models on Bedrock.
    Cohere,
}

impl Form {
    /// Returns the format, or `None` if the provider has no embeddings.
    pub(super) fn of(provider: Provider, model: &str) -> Option<Self> {
        provider.embedding_model()?;
        match provider {
            Provider::Mistral => Some(Self::Mistral),
            Provider::Ollama => Some(Self::Ollama),
            Provider::Gemini => Some(Self::Gemini),
            Provider::Bedrock if bare_name(model).starts_with("embed-") => Some(Self::Cohere),
            Provider::Bedrock => Some(Self::Titan),
            Provider::Fake => None,
            _ => Some(Self::OpenAi),
        }
    }

    /// Returns the limits of one request: the services' own, with a margin for the tokens of a whole request.
    pub(super) fn limits(self) -> Limits {
        let (texts, bytes) = match self {
            Self::OpenAi => (256, 400_000),
            Self::Mistral => (64, 40_000),
            Self::Ollama => (32, 200_000),
            Self::Gemini => (100, 100_000),
            Self::Titan => (1, 0),
            Self::Cohere => (96, 200_000),
        };
        Limits { texts, bytes }
    }

    /// Builds the request for the vectors of these texts.
    pub(super) fn build_request(
        self,
        service: &Service,
        texts: &[&str],
        dimensions: Option<u32>,
    ) -> Outgoing {
        let body = self.body(service, texts, dimensions).to_string().into_bytes();
        match self {
            Self::OpenAi => bearer(service, "/embeddings", body),
            Self::Mistral => bearer(service, "/v1/embeddings", body),
            Self::Ollama => bearer(service, "/api/embed", body),
            Self::Gemini => {
                let path = gemini::method_path(service, "batchEmbedContents");
                gemini::outgoing(service, Method::Post, &path, "application/json", body)
            }
            Self::Titan | Self::Cohere => bedrock::outgoing(service, "invoke", "application/json", body),
        }
    }

    fn body(self, service: &Service, texts: &[&str], dimensions: Option<u32>) -> Value {
        let model = &service.model;
        // No service accepts an empty text.
        let texts: Vec<&str> =
            texts.iter().map(|text| if text.trim().is_empty() { "(empty)" } else { text }).collect();
        let (mut body, key) = match self {
            Self::OpenAi => {
                (json!({ "model": model, "input": texts, "encoding_format": "float" }), "dimensions")
            }
            Self::Mistral => (json!({ "model": model, "input": texts }), "output_dimension"),
            Self::Ollama => (json!({ "model": model, "input": texts }), "dimensions"),
            Self::Gemini => return gemini_body(model, &texts, dimensions),
            Self::Titan => (json!({ "inputText": texts.first().unwrap_or(&"(empty)") }), "dimensions"),
            Self::Cohere => {
                let body = json!({ "texts": texts, "input_type": "search_document", "truncate": "END" });
                (body, "output_dimension")
            }
        };
        if let Some(dimensions) = dimensions {
            body[key] = dimensions.into();
        }
        body
    }

    /// Returns the vectors of a response in the order of the texts, or `None` if they are not where they should be.
    pub(super) fn read(self, answer: &Value) -> Option<Vec<Vec<f32>>> {
        match self {
            Self::OpenAi | Self::Mistral => {
                let mut rows: Vec<(u64, Vec<f32>)> = Vec::new();
                for (place, row) in (0..).zip(answer.get("data")?.as_array()?) {
                    let index = row.get("index").and_then(Value::as_u64).unwrap_or(place);
                    rows.push((index, vector(row.get("embedding")?)?));
                }
                rows.sort_by_key(|(index, _)| *index);
                Some(rows.into_iter().map(|(_, vector)| vector).collect())
            }
            Self::Ollama | Self::Titan => match answer.get("embeddings") {
                Some(vectors) => self::vectors(vectors),
                // The format of Titan and of older Ollama: one text, one vector.
                None => Some(vec![vector(answer.get("embedding")?)?]),
            },
            Self::Gemini => {
                answer.get("embeddings")?.as_array()?.iter().map(|row| vector(row.get("values")?)).collect()
            }
            Self::Cohere => {
                let vectors = answer.get("embeddings")?;
                self::vectors(vectors.get("float").unwrap_or(vectors))
            }
        }
    }
}

fn gemini_body(model: &str, texts: &[&str], dimensions: Option<u32>) -> Value {
    let model = format!("models/{}", model.trim_start_matches("models/"));
    let request = |text: &&str| {
        let mut request = json!({ "model": model, "content": { "parts": [{ "text": text }] } });
        if let Some(dimensions) = dimensions {
            request["outputDimensionality"] = dimensions.into();
        }
        request
    };
    json!({ "requests": texts.iter().map(request).collect::<Vec<_>>() })
}

fn bearer(service: &Service, path: &str, body: Vec<u8>) -> Outgoing {
    let mut headers = headers::json("application/json");
    headers.extend(headers::bearer(&service.key));
    Outgoing { method: Method::Post, url: service.url(path), headers, body }
}

fn vectors(value: &Value) -> Option<Vec<Vec<f32>>> {
    value.as_array()?.iter().map(vector).collect()
}

/// Reads a vector of comparable numbers.
fn vector(value: &Value) -> Option<Vec<f32>> {
    let numbers = value.as_array()?;
    let vector: Option<Vec<f32>> = numbers.iter().map(|number| Some(number.as_f64()? as f32)).collect();
    vector.filter(|vector| !vector.is_empty() && vector.iter().all(|number| number.is_finite()))
}
