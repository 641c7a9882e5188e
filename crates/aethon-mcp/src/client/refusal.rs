//! Describes the refusal of a server behind a URL, in our own words; its own text is untrusted and left out.

use std::error::Error;
use std::io;

use rmcp::transport::streamable_http_client::StreamableHttpError;

use super::words::brief;

/// Why a request failed.
pub(super) struct Refusal {
    /// The reason, as a sentence.
    pub(super) why: String,
    /// Whether further requests will fail as well, so that the connection is useless.
    pub(super) is_lasting: bool,
    /// Whether the answer was too large.
    pub(super) is_too_large: bool,
    /// Whether a person's sign-in may help.
    pub(super) wants_sign_in: bool,
}

/// How a server gets to know who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignIn {
    /// A person signs in to it, if it wants that.
    ByPerson,
    /// The owner has configured a token.
    Configured,
}

/// Returns the command that signs in to a server.
pub(super) fn sign_in_command(server: &str) -> String {
    format!("aethon-cli mcp login {server}")
}

impl Refusal {
    /// Finds the refusal in the sources of an error, if a response of a server caused it.
    pub(super) fn of(error: &(dyn Error + 'static)) -> Option<Self> {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(failure) = error.downcast_ref::<StreamableHttpError<io::Error>>() {
                return Self::from_failure(failure);
            }
            next = error.source();
        }
        None
    }

    fn from_failure(failure: &StreamableHttpError<io::Error>) -> Option<Self> {
        let lasting = |why: String| Self { why, is_lasting: true, is_too_large: false, wants_sign_in: false };
        let passing =
            |why: String| Self { why, is_lasting: false, is_too_large: false, wants_sign_in: false };
        Some(match failure {
            StreamableHttpError::AuthRequired(_) => {
                let why = "it refused the sign-in (status 401); check the `headers` of this server".into();
                Self { wants_sign_in: true, ..lasting(why) }
            }
            StreamableHttpError::InsufficientScope(lacks) => {
                let scope = lacks.required_scope.as_deref().map(brief).unwrap_or_default();
                let scope = if scope.is_empty() { scope } else { format!(" ({scope})") };
                let why =
                    format!("the sign-in at its server does not permit that; it needs more scope{scope}");
                Self { wants_sign_in: true, ..passing(why) }
            }
            StreamableHttpError::HttpStatus(refused) => {
                passing(format!("it answered with the status {}", refused.status))
            }
            StreamableHttpError::ResponseBodyTooLarge { max_size } => {
                let why = format!("its answer is larger than {} MiB", max_size >> 20);
                Self { is_too_large: true, ..passing(why) }
            }
            StreamableHttpError::UnexpectedContentType(kind) => {
                let kind = brief(kind.as_deref().unwrap_or("no type"));
                passing(format!("it answered with {kind}, which is not the protocol"))
            }
            StreamableHttpError::Deserialize(_) => {
                passing("it answered with something else than the protocol has there".into())
            }
            StreamableHttpError::Client(broken) => lasting(broken.to_string()),
            _ => return None,
        })
    }
}
