//! Makes the built-in catalogue: LiteLLM's table on standard input, `data/models.json` on standard output. `cargo xtask
//! catalog` runs it; it is an example, so that the chores need not build the providers.

use std::io::{self, Read, Write};

fn main() -> io::Result<()> {
    let mut table = String::new();
    io::stdin().read_to_string(&mut table)?;
    let made = aethon_providers::built_in_catalog(&table).map_err(io::Error::other)?;
    io::stdout().write_all(made.as_bytes())
}
