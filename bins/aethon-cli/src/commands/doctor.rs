//! `doctor`: what is wrong, and how to fix it.

use std::process::ExitCode;

use aethon::core::visible::readable;
use aethon::doctor::{Finding, Health};
use anyhow::Result;
use serde_json::json;

use super::{print, print_json};
use crate::args::Common;
use crate::chat::style;

pub(crate) async fn run(common: &Common, attack: bool, (strict, as_json): (bool, bool)) -> Result<ExitCode> {
    let builder = crate::builder(common);
    let findings = match attack {
        true => aethon::attack::examine(builder).await,
        false => aethon::doctor::examine(builder).await,
    };
    let worst = findings.iter().map(|finding| finding.health).max().unwrap_or(Health::Ok);
    let healthy = worst < if strict { Health::Warning } else { Health::Broken };
    if as_json {
        print_json(&json!({"healthy": healthy, "findings": findings}))?;
    } else {
        print(&findings.iter().map(line).collect::<String>())?;
    }
    Ok(if healthy { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn line(finding: &Finding) -> String {
    let style = style();
    let mark = match finding.health {
        Health::Ok => style.paint("32", "ok     "),
        Health::Note => style.paint("36", "note   "),
        Health::Warning => style.paint("33", "warning"),
        Health::Broken => style.paint("31", "broken "),
    };
    let fix =
        finding.fix.as_ref().map(|fix| format!("\n           fix: {}", readable(fix))).unwrap_or_default();
    format!("{mark}  {}: {}{fix}\n", finding.area, readable(&finding.message))
}
