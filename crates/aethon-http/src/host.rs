//! The Host header.

use crate::options::Options;

/// Which hosts are served.
pub(crate) struct HostRules {}

impl HostRules {
    pub(crate) fn new(_options: &Options, _is_loopback: bool) -> Self {
        Self {}
    }
}

/// Whether the host is this machine only.
pub async fn is_loopback_host(_host: &str) -> std::io::Result<bool> {
    Ok(false)
}
