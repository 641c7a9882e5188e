//! The alerts and the dashboard in `packaging/monitoring` name metrics, labels and states that the server has.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use aethon_tests::{Server, eventually};
use serde_json::Value;

use super::made::{has, root};

const RULES: &str = "packaging/monitoring/aethon.rules.yml";
const DASHBOARD: &str = "packaging/monitoring/grafana-dashboard.json";

/// The names of metrics in a text, those of a histogram's parts without their ending.
fn names(text: &str) -> BTreeSet<String> {
    let is_part = |letter: char| letter.is_ascii_lowercase() || letter == '_';
    let words = text.split(|letter| !is_part(letter));
    let ours = words.filter(|word| word.starts_with("aethon_") || word.starts_with("process_"));
    let ends = ["_bucket", "_count", "_sum"];
    ours.map(|word| ends.iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word).to_owned()).collect()
}

/// The labels that an expression asks for: `name="` and `name=~"`, and those in `by (...)`.
fn labels(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices("=\"") {
        let before = &text[..at];
        let start =
            before.rfind(|letter: char| !letter.is_ascii_lowercase() && letter != '_').map_or(0, |at| at + 1);
        found.insert(before[start..].to_owned());
    }
    for rest in text.split(" by (").skip(1) {
        let inside = rest.split(')').next().unwrap();
        found.extend(inside.split(',').map(|label| label.trim().to_owned()));
    }
    found
}

/// The texts of all expressions in the two files.
fn expressions() -> Vec<String> {
    let mut found = Vec::new();
    let rules = fs::read_to_string(root().join(RULES)).unwrap();
    let mut lines = rules.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(first) = line.trim_start().strip_prefix("expr:") else { continue };
        let mut expression = first.trim_start_matches([' ', '|']).to_owned();
        let is_deeper = |next: &&str| next.starts_with("          ");
        while let Some(more) = lines.next_if(is_deeper) {
            expression.push_str(more);
        }
        found.push(expression);
    }
    assert_eq!(found.len(), rules.matches("- alert:").count());
    let dashboard = fs::read_to_string(root().join(DASHBOARD)).unwrap();
    let dashboard: Value = serde_json::from_str(&dashboard).unwrap();
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().unwrap() {
            found.push(target["expr"].as_str().unwrap().to_owned());
        }
    }
    found.push(dashboard["annotations"]["list"][0]["expr"].as_str().unwrap().to_owned());
    found
}

#[test]
fn alerts_and_dashboard_name_what_the_server_measures() {
    let server = Server::start(&[]);
    server.chat("default").say("m1", "!tool current_time {}");
    // Histograms are there after their first use.
    let metrics = eventually("the turn is counted", || {
        let text = server.get("/metrics").text();
        text.contains("aethon_turn_duration_seconds_count").then_some(text)
    });
    let announced: BTreeSet<&str> =
        metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    let expressions = expressions();
    assert!(expressions.len() > 30, "{}", expressions.len());
    for expression in &expressions {
        for name in names(expression) {
            assert!(announced.contains(name.as_str()), "{name} is not measured: {expression}");
        }
        assert!(!names(expression).is_empty() || expression.starts_with("up{"), "{expression}");
        // Prometheus adds the first two; `le` is that of histograms.
        let known = [
            "exported_job",
            "job",
            "instance",
            "le",
            "channel",
            "status",
            "model",
            "tool",
            "type",
            "state",
            "code",
            "name",
            "target",
        ];
        for label in labels(expression) {
            assert!(known.contains(&label.as_str()), "{label}: {expression}");
            let is_served = ["exported_job", "job", "instance", "name", "target"].contains(&label.as_str())
                || metrics.contains(&format!("{{{label}=\""))
                || metrics.contains(&format!(",{label}=\""));
            assert!(is_served, "no series has the label {label}: {expression}");
        }
    }
}

/// Prometheus calls a scraped label `job` or `instance` `exported_job` or `exported_instance`, because these are its own.
#[test]
fn labels_of_the_scraper_are_not_taken_for_ours() {
    for expression in expressions() {
        let grouped = expression.split(" by (").skip(1).filter_map(|rest| rest.split(')').next());
        let ours = grouped.flat_map(|inside| inside.split(',')).any(|label| label.trim() == "job");
        assert!(!ours, "{expression}");
    }
    for file in [RULES, DASHBOARD] {
        let text = fs::read_to_string(root().join(file)).unwrap();
        assert!(!text.contains("$labels.job") && !text.contains("{{job}}"), "{file}");
    }
}

#[test]
fn alerts_and_the_expressions_of_the_dashboard_are_those_of_prometheus() {
    if !has("promtool") {
        return;
    }
    let folder = aethon_tests::home();
    let panels = folder.path().join("panels.yml");
    let rules: String = expressions()
        .iter()
        .enumerate()
        .map(|(number, expression)| {
            let expression = expression.replace("$__rate_interval", "5m");
            format!("      - record: panel_{number}\n        expr: {}\n", serde_json::json!(expression))
        })
        .collect();
    fs::write(&panels, format!("groups:\n  - name: panels\n    rules:\n{rules}")).unwrap();
    for file in [root().join(RULES), panels] {
        let checked = Command::new("promtool").args(["check", "rules"]).arg(file).output().unwrap();
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    }
}

#[test]
fn dashboard_has_the_fields_that_grafana_needs() {
    let dashboard = fs::read_to_string(root().join(DASHBOARD)).unwrap();
    let dashboard: Value = serde_json::from_str(&dashboard).unwrap();
    assert!(dashboard["title"].is_string() && dashboard["schemaVersion"].as_u64().is_some_and(|v| v >= 36));
    let variables: BTreeSet<&str> = dashboard["templating"]["list"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|v| v["name"].as_str())
        .collect();
    let mut ids = BTreeSet::new();
    let mut taken = BTreeSet::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "an id twice: {panel}");
        assert!(["stat", "timeseries"].contains(&panel["type"].as_str().unwrap()), "{panel}");
        assert!(
            panel["title"].is_string() && panel["fieldConfig"]["defaults"]["unit"].is_string(),
            "{panel}"
        );
        let place = &panel["gridPos"];
        let [x, y, w, h] = ["x", "y", "w", "h"].map(|key| place[key].as_u64().unwrap());
        assert!(x + w <= 24 && w > 0 && h > 0, "{place}");
        for column in x..x + w {
            for row in y..y + h {
                assert!(taken.insert((column, row)), "{} lies on another panel", panel["title"]);
            }
        }
        let letters: BTreeSet<&str> = panel["targets"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|target| target["refId"].as_str())
            .collect();
        assert_eq!(letters.len(), panel["targets"].as_array().unwrap().len(), "{panel}");
        for text in [panel["datasource"]["uid"].as_str().unwrap(), &panel["targets"].to_string()] {
            let used = text.split('$').skip(1).map(|rest| rest.trim_start_matches('{'));
            for name in
                used.map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap())
            {
                assert!(variables.contains(name) || name == "__rate_interval", "{name} in {panel}");
            }
        }
    }
}
