//! Which provider answers for which options. The one place that lists them all.

use std::sync::Arc;

use aethon_core::model::{ModelErrorKind, ModelProvider};

use crate::capabilities;
use crate::echo::Echo;
use crate::fake::Fake;
use crate::options::{Options, Provider};
use crate::unavailable::Unavailable;

/// Makes the provider. Never fails: what is missing or wrong is in its readiness, so that a service starts and says
/// what to set.
pub fn build(options: Options) -> Arc<dyn ModelProvider> {
    let capabilities = capabilities::of(&options);
    match options.provider {
        Provider::Echo => Arc::new(Echo::new(capabilities)),
        Provider::Fake => Arc::new(Fake::new(capabilities)),
        other => Arc::new(Unavailable::new(
            capabilities,
            ModelErrorKind::InvalidRequest,
            format!("{} is not spoken by this version yet; set model.provider to another one", other.title()),
        )),
    }
}
