//! The error of a connection, as a sentence.

/// A connection that could not be made or kept.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    message: String,
    #[source]
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
    needs_sign_in: bool,
}

impl Error {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), source: None, needs_sign_in: false }
    }

    pub(crate) fn because(self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self { source: Some(Box::new(source)), ..self }
    }

    /// Marks it as one that only a person's sign-in mends.
    pub(crate) fn mended_by_sign_in(self, is_mended: bool) -> Self {
        Self { needs_sign_in: is_mended, ..self }
    }

    /// Returns whether only a person's sign-in mends it.
    pub(crate) fn needs_sign_in(&self) -> bool {
        self.needs_sign_in
    }
}
