//! The credentials for signing: environment, shared files, container, instance, in the order of AWS's own tools.
//!
//! Files are read each time, because other tools rewrite them when they renew credentials. What a container or an
//! instance provides is cached until shortly before it expires; if renewing fails, the old credentials are used until
//! then. Assumed roles, single sign-on and credential processes are not supported; a profile that needs them gets an
//! error saying so.

mod chain;
mod files;
mod key_pair;
mod metadata;
mod region;
#[cfg(test)]
mod tests;

pub(crate) use chain::Chain;
pub(crate) use key_pair::Credentials;
pub(crate) use region::resolve;
