//! The Origin header.

/// Which origins are served.
pub(crate) struct OriginRules {}

impl OriginRules {
    pub(crate) fn new(_allowed: &[String]) -> Self {
        Self {}
    }
}
