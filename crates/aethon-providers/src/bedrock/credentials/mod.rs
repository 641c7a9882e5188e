//! What to sign with: environment, shared files, container, instance, in the order of AWS's own tools.
//!
//! Files are read anew each time, because other tools rewrite them when they renew what is in them. What a container or
//! an instance hands out is kept until shortly before it expires; when renewing fails then, the old one is used while it
//! lasts. Roles to assume, single sign-on and helper programs are not followed; a profile that needs them says so.

mod chain;
mod files;
mod metadata;
mod region;
#[cfg(test)]
mod tests;

pub(crate) use chain::{Chain, Credentials};
pub(crate) use region::resolve;
