//! `storage copy`: the data of one storage into another.

use std::process::ExitCode;

use aethon::config::Sources;
use aethon::rows::{Copied, Place, Request, copy};
use anyhow::Result;

use super::progress::ProgressLine;
use super::{print, print_json};
use crate::args::{Common, StorageCommand};

pub(crate) async fn run(common: &Common, command: StorageCommand) -> Result<ExitCode> {
    let StorageCommand::Copy { from, to, verify, json } = command;
    let sources = Sources::from_process(common.home.clone(), None, Vec::new())
        .map_err(|error| aethon::Error::refused(error.to_string()))?;
    let request = Request { from: Place::parse(&from, &sources)?, to: Place::parse(&to, &sources)?, verify };
    let copied = {
        let mut line = ProgressLine::new();
        copy(&request, &mut |what: &str, done: u64, total: u64| line.show(what, done, total.max(1))).await?
    };
    if json {
        print_json(&serde_json::to_value(&copied)?)?;
    } else {
        print(&lines(&copied, &request))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn lines(copied: &Copied, request: &Request) -> String {
    let Copied { rows, tables, resumed, verified } = copied;
    let how = match (resumed, verified) {
        (true, _) => "an interrupted copy was completed, and all rows were compared",
        (false, true) => "all rows were compared",
        (false, false) => "all rows were counted",
    };
    let mut text = format!("{rows} rows were copied from {} to {}; {how}\n", request.from, request.to);
    for table in tables.iter().filter(|table| table.rows > 0) {
        text += &format!("  {:>10} {}\n", table.rows, table.name);
    }
    text += match request.to {
        Place::Server(_) => "set storage.url to its address, and start aethon-server\n",
        Place::File(_) => "if it is that of the home, unset storage.url, and start aethon-server\n",
        Place::Lines(_) => "",
    };
    text
}
