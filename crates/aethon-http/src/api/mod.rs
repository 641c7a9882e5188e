//! The JSON interface below `/api/`, one file a resource.

pub(crate) mod approvals;
pub(crate) mod config;
pub(crate) mod logs;
pub(crate) mod sessions;
pub(crate) mod sign_out;
pub(crate) mod status;
pub(crate) mod usage;
