//! Checks `[storage]`. Whether the server can be reached is found out when it is opened.

use crate::path::KeyPath;
use crate::remark::Remarks;
use crate::schema::Config;

/// The schemes of a server's address.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

pub(super) fn check(config: &Config, remarks: &mut Remarks) {
    let storage = &config.storage;
    // It may hold a password, so it is not repeated.
    if storage.is_on_server() && !SCHEMES.iter().any(|scheme| storage.url.expose().starts_with(scheme)) {
        remarks.problem(
            KeyPath::of(["storage", "url"]),
            "no address of a PostgreSQL database",
            "`postgres://user:password@host/database`, or \"\" for the file in the home",
        );
    }
}
