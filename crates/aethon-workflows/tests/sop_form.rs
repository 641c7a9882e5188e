//! The texts in `tests/sops`, written in the form of the public Agent SOPs and in the ways in which people depart from
//! it, are SOPs; and what has no meaning to the program is remarked upon.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    missing_docs,
    reason = "in tests a failed expectation is the result"
)]

use std::path::Path;

use aethon_core::sop::{SopName, SopOrigin};
use aethon_workflows::sop::{Reading, parse};

fn reading(content: &str) -> Reading {
    Reading::of(SopName::parse("x").unwrap(), SopOrigin::BuiltIn, content)
}

fn text_of(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sops");
    std::fs::read_to_string(folder.join(format!("{name}.sop.md"))).unwrap()
}

/// Checks the parameters (`!` for required, `=` for the default) and the titles of the steps.
#[track_caller]
fn check(name: &str, parameters: &[&str], steps: &[&str]) {
    let sop = parse(SopName::parse(name).unwrap(), SopOrigin::BuiltIn, &text_of(name)).unwrap();
    let found: Vec<String> = sop
        .parameters
        .iter()
        .map(|one| match (&one.default, one.required) {
            (Some(default), _) => format!("{}={default}", one.name),
            (None, true) => format!("{}!", one.name),
            (None, false) => one.name.clone(),
        })
        .collect();
    assert_eq!(found, parameters, "{name}");
    let found: Vec<&str> = sop.steps.iter().map(|step| step.title.as_str()).collect();
    assert_eq!(found, steps, "{name}");
    assert!(!sop.title.is_empty() && !sop.description.is_empty(), "{name}");
    assert!(!sop.title.contains(['#', '\u{feff}', '\r']), "{name}: {:?}", sop.title);
}

#[test]
fn texts_in_the_public_form_are_sops() {
    check(
        "tidy-inbox",
        &[
            "folder!",
            "rules_file",
            "archive_dir=archive/{year}",
            "start_at=current working directory",
            "mode=auto",
        ],
        &["Look", "Sort"],
    );
    check("cut-tasks", &["plan!", "step_number", "out=.tasks/{name}"], &["Read the Plan", "Write the Tasks"]);
    check(
        "survey-archive",
        &[
            "output_dir=.agents/survey",
            "consolidate=true",
            "targets=INDEX.md",
            "prompt",
            "archive_path=current directory",
        ],
        &["Set Up", "Survey", "Summary and Next Steps"],
    );
    check(
        "judge-answers",
        &["agent_path!", "case_count=3", "output_format=jsonl"],
        &["Setup", "Planning Phase", "Run"],
    );
    check(
        "think-through",
        &["rough_idea!", "project_dir=.plans/{name}"],
        &["Create Structure", "Questions", "Checkpoint", "Plan"],
    );
}

#[test]
fn other_notations_of_the_same_form_are_sops() {
    check("byte-order-mark", &["tag!", "style=short"], &["Write"]);
    check("front-matter", &["tag!", "style=long, or short"], &["Look", "Write"]);
    check("underlined", &["tag!", "style=short"], &["Look", "Write"]);
    check("closed-headings", &["tag!", "style=short"], &["Look at C#", "Write"]);
    check("parameter-table", &["tag!", "style=short", "to"], &["Write"]);
    check("no-parameters", &[], &["Write"]);
    let loose = ["tag!", "style=short", "max_words=100", "where=a, b (c)", "to"];
    check("loose-form", &loose, &["Look", "Write"]);
    check("one-level-up", &["tag!"], &["Look", "Write"]);
}

#[test]
fn tables_of_parameters_have_many_forms() {
    let check = |table: &str, expected: &[(&str, bool, Option<&str>)]| {
        let text = format!("# T\n## Overview\nx\n## Parameters\n\n{table}\n\n## Steps\n### 1. a\n");
        let sop = reading(&text).outcome.unwrap();
        let found: Vec<_> = sop
            .parameters
            .iter()
            .map(|one| (one.name.as_str(), one.required, one.default.as_deref()))
            .collect();
        assert_eq!(found, expected, "{table}");
    };
    let both = [("a", true, None), ("b", false, Some("x"))];
    check("| Name | Required | Default |\n|---|---|---|\n| a | yes | |\n| b | no | x |", &both);
    check(
        "| Parameter | Type | Required? | Default value |\n|---|---|:-:|---|\n| `a` | string | ✓ | — |\n| `b` | | | `x` |",
        &both,
    );
    check("Name | Required\n--- | ---\na | required\nb | optional, default: x", &both);
    check(
        "| name | required/optional | default |\n|-|-|-|\n| **a** | required | |\n| **b** | optional | \"x\" |",
        &both,
    );
    check("| Parameter | Optional | Default |\n|-|-|-|\n| a | no | n/a |\n| b | yes | 'x' |", &both);
    check(
        "| Argument | Status | Meaning |\n|-|-|-|\n| a | mandatory | y |\n| b | (optional, default: \"x\") | z |",
        &both,
    );
}

#[test]
fn the_end_of_a_list_above_a_rule_is_no_heading() {
    let text =
        "# T\n## Overview\nx\n---\n1. one\n---\n## Steps\n### 1. a\n1. one\n2. two\n---\n### 2. b\ny\n---\n";
    let sop = reading(text).outcome.unwrap();
    assert_eq!(sop.steps.len(), 2);
}

#[test]
fn every_text_of_the_folder_is_a_sop_with_any_line_ends() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sops");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let content = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let plain = content.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        let windows = format!("\u{feff}{}", plain.replace('\n', "\r\n"));
        let (plain, windows) = (reading(&plain), reading(&windows));
        let (one, other) = (plain.outcome.unwrap(), windows.outcome.unwrap());
        assert_eq!((&one.parameters, one.steps.len()), (&other.parameters, other.steps.len()));
        assert_eq!(plain.remarks, windows.remarks);
        count += 1;
    }
    assert!(count >= 12, "{count}");
}

#[test]
fn step_keeps_its_text_constraints_and_code() {
    let sop = parse(SopName::parse("x").unwrap(), SopOrigin::BuiltIn, &text_of("tidy-inbox")).unwrap();
    for words in ["MUST NOT open", "#### 1.1 Read the Rules", "MAY leave out"] {
        assert!(sop.steps[0].text.contains(words), "{words}");
    }
    let mode = sop.parameter("mode").unwrap();
    assert!(mode.description.contains("asks before each move") && !mode.description.contains("MUST"));
    let sop = parse(SopName::parse("x").unwrap(), SopOrigin::BuiltIn, &text_of("underlined")).unwrap();
    assert!(sop.steps[0].text.starts_with("Look at all of it") && sop.steps[0].text.ends_with("and go on"));
}

#[test]
fn remarks_name_the_lines_that_have_no_meaning() {
    let check = |content: &str, expected: &[(usize, &str)]| {
        let Reading { outcome, remarks } = reading(content);
        outcome.unwrap();
        let found: Vec<_> = remarks.iter().map(|remark| (remark.line, remark.message.as_str())).collect();
        assert_eq!(found.len(), expected.len(), "{content:?}: {found:?}");
        for ((line, message), (expected_line, words)) in found.iter().zip(expected) {
            assert!(line == expected_line && message.contains(words), "{content:?}: {found:?}");
        }
    };
    let with = |parameters: &str, more: &str| {
        format!("# T\n## Overview\nx\n## Parameters\n{parameters}\n## Steps\n### 1. a\n{more}")
    };
    check(&with("", ""), &[]);
    check(&with("- **a** (required): x", "## Examples\n## Troubleshooting\n"), &[]);
    check(&with("", "## Best Practices\nx\n"), &[(8, "\"Best Practices\" has no meaning")]);
    check(&with("- You MUST ask", ""), &[(5, "read as a constraint")]);
    check(&with("**Constraints:**\n- You MUST ask\n- none\n", ""), &[]);
    check(&with("**Constraints:**\n- **a** (required): x", ""), &[(6, "before the constraints")]);
    check(&with("**Notes:**\n- one\n- **Two**: x", ""), &[(6, "no meaning"), (7, "no meaning")]);
    check(&with("- **a** (string, required): x", ""), &[(5, "\"string\"")]);
    check(&with("| a | b |\n|---|---|\n| 1 | 2 |", ""), &[(5, "no column")]);
    check(
        &with("| Name | Description |\n|---|---|\n| two words | x |\n| b | optional |\n| c | x |", ""),
        &[(7, "this row is no parameter"), (9, "does not say")],
    );
    check(
        &with("| Parameter | Optional | Default |\n|-|-|-|\n| a | no | 5 |", ""),
        &[(7, "counts as optional")],
    );
    check(&with("", "Do it\n---\n"), &[(8, "above a row of dashes")]);
    check(&with("", "```\nx\n"), &[(8, "has no end")]);
    check(&with("", "<!-- x\n"), &[(8, "has no end")]);
    check(&with("", "## Examples\n# Again\n"), &[(9, "second title")]);
    check("---\na: b\n---\n# T\n## Overview\nx\n## Steps\n### 1. a\n", &[(1, "front matter")]);
    // A rule at the beginning is no front matter.
    check("---\n# T\n## Overview\nx\n## Steps\n### 1. a\n---\n", &[]);
}

#[test]
fn lines_above_a_rule_keep_their_meaning() {
    let sop = parse(
        SopName::parse("x").unwrap(),
        SopOrigin::BuiltIn,
        "# A\n\n## Overview\n\nWhat.\n\nOutput\n======\n\n## Parameters\n\n- **who** (required): the name\n---\n\n## Steps\n\n\
         ### 1. One\n\nDo it.\n\n**Schema:** one.json\n---\n\n### 2. Two\n\nDo more.\n\nOutput\n======\n",
    )
    .unwrap();
    let schemas: Vec<bool> = sop.steps.iter().map(|step| step.schema.is_some()).collect();
    assert_eq!((sop.parameters.len(), schemas), (1, vec![true, false]));
    assert!(sop.steps[1].text.contains("Output"), "{:?}", sop.steps[1]);
}
