//! `model test`: tests the real abilities of the configured models.

use std::io::IsTerminal;
use std::process::ExitCode;

use aethon::core::visible::readable;
use aethon::model_test::{Check, ModelReport, Outcome, Spent, Window, WindowSource};
use anyhow::Result;
use serde_json::json;

use super::{print, print_json};
use crate::args::Common;
use crate::chat::style;

pub(crate) async fn test(common: &Common, as_json: bool) -> Result<ExitCode> {
    let prepared = crate::setup::prepared(common)?;
    super::upgrade::offer(&prepared)?;
    if !as_json && std::io::stderr().is_terminal() {
        eprintln!("asking; this can take half a minute a question");
    }
    let reports = aethon::model_test::examine(&prepared).await?;
    let answers = reports.first().is_some_and(ModelReport::chats);
    if as_json {
        print_json(&json!({"answers": answers, "models": reports}))?;
    } else {
        print(&reports.iter().map(text).collect::<Vec<_>>().join("\n"))?;
    }
    Ok(if answers { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn text(report: &ModelReport) -> String {
    let fallback = if report.fallback { " (fallback)" } else { "" };
    let mut out = format!("{} by {}{fallback}\n", readable(&report.model), readable(&report.provider));
    out.extend(report.checks.iter().map(line));
    if let Some(speed) = report.tokens_per_second {
        out.push_str(&figure("speed", &format!("{speed:.1} tokens a second")));
    }
    out.push_str(&figure("context", &window(&report.context_window)));
    if report.spent.calls > 0 {
        out.push_str(&figure("spent", &spent(&report.spent)));
    }
    out
}

fn line(check: &Check) -> String {
    let style = style();
    let mark = match check.outcome {
        Outcome::Ok => style.paint("32", "ok     "),
        Outcome::Partly => style.paint("33", "partly "),
        Outcome::Failed => style.paint("31", "failed "),
        Outcome::Skipped => style.dim("skipped"),
    };
    format!("  {mark}  {}: {}\n", check.ability, readable(&check.message))
}

fn figure(name: &str, value: &str) -> String {
    format!("           {name}: {value}\n")
}

fn window(window: &Window) -> String {
    let source = match window.source {
        WindowSource::Config => "set by model.context_window",
        WindowSource::Table => "known of this model",
        WindowSource::Service => "as its service says",
        WindowSource::Learnt => "learnt from its service earlier",
        WindowSource::Assumed => "assumed, because the model is unknown; set model.context_window",
        WindowSource::Program => "as the program says that brought the model along",
    };
    let told = match window.told {
        Some(told) if told != window.tokens && window.longest.is_none() => {
            format!("; its service says {told}")
        }
        _ => String::new(),
    };
    let longest = window.longest.map_or_else(String::new, |longest| format!(" of {longest}"));
    format!("{}{longest} tokens, {source}{told}", window.tokens)
}

fn spent(spent: &Spent) -> String {
    let usage = &spent.usage;
    let cost = match spent.cost_usd {
        Some(cost) => format!("{cost:.6} USD"),
        None => "the price is not known; see budget.pricing".to_owned(),
    };
    let uncounted = match spent.uncounted {
        0 => String::new(),
        count => format!("; {count} of them without figures, estimated"),
    };
    format!(
        "{} question{}, {} tokens in, {} out, {cost}{uncounted}",
        spent.calls,
        if spent.calls == 1 { "" } else { "s" },
        usage.input_tokens,
        usage.output_tokens
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_names_its_source() {
        let said = |source, told| window(&Window { tokens: 32_768, longest: None, source, told });
        assert!(said(WindowSource::Assumed, None).ends_with("set model.context_window"));
        assert!(said(WindowSource::Config, Some(4_096)).ends_with("its service says 4096"));
        assert!(said(WindowSource::Service, Some(32_768)).ends_with("as its service says"));
        let (source, told) = (WindowSource::Service, Some(32_768));
        let larger = window(&Window { tokens: 32_768, longest: Some(40_960), source, told });
        assert_eq!(larger, "32768 of 40960 tokens, as its service says");
    }
}
