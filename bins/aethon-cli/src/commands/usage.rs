//! `usage`: the tokens and costs of the models, from the daemon if one runs, else from the database.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::Value;

use super::source::Source;
use super::{print, print_json};
use crate::args::Common;

pub(crate) async fn run(common: &Common, days: u32, json: bool) -> Result<ExitCode> {
    let usage = Source::run(common, async |source| match source {
        Source::Daemon(daemon) => daemon.get(format!("/api/usage?days={days}")).await,
        Source::Here(aethon) => Ok(aethon.usage_document(days).await?),
    });
    let usage = usage.await?;
    if json {
        print_json(&usage)?
    } else {
        print(&table(&usage))?
    }
    Ok(ExitCode::SUCCESS)
}

const HEAD: [&str; 9] =
    ["day", "model", "kind", "requests", "failed", "tokens in", "cached", "tokens out", "cost"];

/// The index of the first numeric column.
const NUMBERS: usize = 3;

/// Formats the usage of some days.
pub(crate) fn table(usage: &Value) -> String {
    let rows = usage["rows"].as_array().map(Vec::as_slice).unwrap_or_default();
    if rows.is_empty() {
        return format!(
            "there were no model calls in the last {} days\n{}\n",
            usage["days"],
            budget(&usage["budget"])
        );
    }
    let mut lines = vec![HEAD.map(str::to_owned)];
    lines.extend(rows.iter().map(line));
    lines.push(totals(&usage["total"]));
    let widths: Vec<usize> = (0..HEAD.len())
        .map(|column| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0))
        .collect();
    let mut out = String::new();
    for line in &lines {
        for (column, (cell, &width)) in line.iter().zip(&widths).enumerate() {
            let gap = if column == 0 { "" } else { "  " };
            out.push_str(&if column < NUMBERS {
                format!("{gap}{cell:<width$}")
            } else {
                format!("{gap}{cell:>width$}")
            });
        }
        out.push('\n');
    }
    format!("{out}{}{}\n", saved(&usage["total"]), budget(&usage["budget"]))
}

/// Describes the savings by the providers' caches.
fn saved(total: &Value) -> String {
    let count = |key: &str| total[key].as_u64().unwrap_or(0);
    let (cached, input) = (count("cached_tokens"), count("input_tokens"));
    if cached == 0 || input == 0 {
        return String::new();
    }
    let share = (cached.saturating_mul(100) / input).clamp(1, 100);
    let money = match total["saved_usd"].as_f64() {
        Some(saved) if saved > 0.0 => format!(" and saved {saved:.4} USD"),
        _ => String::new(),
    };
    format!("{share} % of the tokens that were sent came from the providers' caches{money}\n")
}

fn line(row: &Value) -> [String; 9] {
    let text = |key: &str| aethon::core::visible::readable(row[key].as_str().unwrap_or_default());
    let model = Some(text("model")).filter(|model| !model.is_empty()).unwrap_or_else(|| "-".to_owned());
    let [requests, failed, input, cached, output, cost] = numbers(row);
    [text("day"), model, text("kind"), requests, failed, input, cached, output, cost]
}

fn totals(total: &Value) -> [String; 9] {
    let [requests, failed, input, cached, output, cost] = numbers(total);
    ["total".into(), String::new(), String::new(), requests, failed, input, cached, output, cost]
}

fn numbers(sum: &Value) -> [String; 6] {
    let count = |key: &str| sum[key].as_u64().unwrap_or(0).to_string();
    [
        count("requests"),
        count("failed"),
        count("input_tokens"),
        count("cached_tokens"),
        count("output_tokens"),
        money(&sum["cost_usd"]),
    ]
}

/// Describes the rest of the daily budget.
fn budget(budget: &Value) -> String {
    let (spent, ceiling) = (money(&budget["spent_usd"]), budget["daily_usd"].as_f64().unwrap_or(0.0));
    if ceiling <= 0.0 {
        return format!("today: {spent} USD; there is no ceiling (budget.daily_usd)");
    }
    let reserved = match budget["reserved_usd"].as_f64() {
        Some(reserved) if reserved > 0.0 => format!(", {reserved:.4} set aside for calls that run"),
        _ => String::new(),
    };
    let state = match budget["state"].as_str() {
        Some("exhausted") => "; nothing is left, and a day begins at 00:00 UTC",
        Some("warn") => "; that is close to the ceiling",
        _ => "",
    };
    format!("today: {spent} of {ceiling:.2} USD{reserved}{state}")
}

fn money(amount: &Value) -> String {
    format!("{:.4}", amount.as_f64().unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_table_is_aligned_and_ends_with_the_budget() {
        let sum = |requests: u64, cost: f64| {
            json!({"requests": requests, "failed": 0, "input_tokens": 1200, "cached_tokens": 800,
                   "output_tokens": 30, "cost_usd": cost, "saved_usd": 0.125})
        };
        let mut row = sum(12, 0.25);
        row["day"] = "2026-11-20".into();
        row["model"] = "gpt-5.1".into();
        row["kind"] = "turn".into();
        let mut cut = sum(1, 0.5);
        cut["day"] = "2026-11-20".into();
        cut["kind"] = "interrupted".into();
        let budget = json!({"daily_usd": 1.0, "spent_usd": 0.75, "reserved_usd": 0.125, "state": "warn"});
        let usage = json!({"days": 30, "rows": [row, cut], "total": sum(13, 0.75), "budget": budget});
        assert_eq!(
            table(&usage),
            "day         model    kind         requests  failed  tokens in  cached  tokens out    cost\n\
             2026-11-20  gpt-5.1  turn               12       0       1200     800          30  0.2500\n\
             2026-11-20  -        interrupted         1       0       1200     800          30  0.5000\n\
             total                                   13       0       1200     800          30  0.7500\n\
             66 % of the tokens that were sent came from the providers' caches and saved 0.1250 USD\n\
             today: 0.7500 of 1.00 USD, 0.1250 set aside for calls that run; that is close to the ceiling\n"
        );
    }

    #[test]
    fn an_empty_ledger_says_so() {
        let budget = json!({"daily_usd": 0.0, "spent_usd": 0.0, "reserved_usd": 0.0, "state": "ok"});
        let text = table(&json!({"days": 7, "rows": [], "budget": budget}));
        assert_eq!(
            text,
            "there were no model calls in the last 7 days\ntoday: 0.0000 USD; there is no ceiling (budget.daily_usd)\n"
        );
    }
}
