//! What a SOP consists of, and that every fault carries its line.

use super::*;

const GOOD: &str = "# Release notes\n\n## Overview\n\nWrites the notes\nof a release.\n\nMore.\n\n## Parameters\n\n\
    - **tag** (required): The tag\n  of the release\n- **style** (optional, default: \"short (and sweet)\"): How\n\
    - **to** (optional): Where\n\n## Steps\n\n### 1. Look\n\nLook at it.\n\n```sh\n# no title\n### 7. no step\n```\n\n\
    **Constraints:**\n- You MUST look\n\n### 2. Write\n\nWrite.\n\n## Examples\n\n### 9. anything\n";

fn read(content: &str) -> Result<Sop, Vec<SopFault>> {
    parse(SopName::parse("x").unwrap(), SopOrigin::BuiltIn, content)
}

#[test]
fn a_sop_has_a_title_an_overview_parameters_and_steps() {
    let sop = read(GOOD).unwrap();
    assert_eq!(
        (sop.title.as_str(), sop.description.as_str()),
        ("Release notes", "Writes the notes of a release.")
    );
    let parameters: Vec<_> = sop
        .parameters
        .iter()
        .map(|one| (one.name.as_str(), one.required, one.default.as_deref(), one.description.as_str()))
        .collect();
    let expected = [
        ("tag", true, None, "The tag of the release"),
        ("style", false, Some("short (and sweet)"), "How"),
        ("to", false, None, "Where"),
    ];
    assert_eq!(parameters, expected);
    let titles: Vec<&str> = sop.steps.iter().map(|step| step.title.as_str()).collect();
    assert_eq!(titles, ["Look", "Write"]);
    assert!(sop.steps[0].text.contains("# no title") && sop.steps[0].text.ends_with("- You MUST look"));
}

#[test]
fn parse_errors_carry_their_line() {
    let check = |content: &str, expected: &[(usize, &str)]| {
        let faults = read(content).unwrap_err();
        let found: Vec<_> = faults.iter().map(|fault| (fault.line, fault.message.as_str())).collect();
        assert_eq!(found.len(), expected.len(), "{content:?}: {found:?}");
        for ((line, message), (expected_line, words)) in found.iter().zip(expected) {
            assert!(line == expected_line && message.contains(words), "{content:?}: {found:?}");
        }
    };
    check("", &[(1, "title is missing"), (1, "## Overview"), (1, "## Steps")]);
    check("# T\n## Overview\n\n## Steps\n", &[(2, "overview is empty"), (4, "no step")]);
    check("# T\n## Overview\nx\n## Steps\n### One\n", &[(4, "no step"), (5, "### 1. Title")]);
    check("# T\n# U\n## Overview\nx\n## Steps\n### 1. a\n### 3. b\n", &[(2, "second title"), (7, "step 2")]);
    check(
        "# T\n## Overview\nx\n## Steps\n### 1. a\n**Schema:** a.txt\n### 2. b\n**Schema:** b.json\n**Schema:** c.json\n",
        &[(6, "names a file in the folder sops/"), (9, "second schema")],
    );
    let head = "# T\n## Overview\nx\n## Parameters\n";
    let tail = "\n## Steps\n### 1. a\n";
    let check = |line: &str, words: &str| check(&format!("{head}{line}{tail}"), &[(5, words)]);
    check("- tag: the tag", "a parameter is written");
    check("- **tag**: the tag", "a parameter is written");
    check("- **tag** (wanted): the tag", "say required or optional");
    check("- **a tag** (required): the tag", "not valid");
    check("- **tag** (required, default: x): the tag", "make it optional");
    check("- **tag** (required: the tag", "a parameter is written");
}

#[test]
fn oversized_sop_is_refused() {
    assert_eq!(read(&"x".repeat(MAX_BYTES + 1)).unwrap_err().len(), 1);
}
