//! A PostgreSQL server of its own as a program, for `cargo xtask bench`: it prints the address and the process of a server whose
//! commits reach the disk of the folder named, and stops it when its input ends.

#![allow(clippy::disallowed_methods, reason = "a part of a benchmark that ends with a status")]

use std::io::{Read, Write};

use aethon_postgres::testkit::OwnServer;
use serde_json::json;

fn main() {
    let folder = std::env::args().nth(1).unwrap_or_else(|| {
        std::io::stderr().write_all(b"own-postgres: name a folder for the data\n").unwrap_or_default();
        std::process::exit(2)
    });
    // The server runs in a folder of its own.
    let folder = std::path::absolute(&folder).unwrap_or_else(|_| folder.into());
    let server = OwnServer::start_durable(&folder);
    let line = json!({"url": server.url, "process": server.process()});
    // If nobody reads, the input has ended too.
    let _ = writeln!(std::io::stdout(), "{line}");
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}
