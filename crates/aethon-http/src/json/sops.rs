//! SOPs as documents, for the API and the terminal.

use std::borrow::Cow;

use aethon_core::sop::{BrokenSop, Sop, SopDraft, SopFault, SopOrigin, SopParameter};
use schemars::JsonSchema;
use serde::Serialize;

use crate::markdown;

/// All SOPs.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SopList")]
pub struct Sops<'s> {
    /// The SOPs, by name.
    pub sops: Vec<ListedSop<'s>>,
    /// How many there are.
    pub count: usize,
    /// Whether SOPs can run.
    pub enabled: bool,
    /// Files named like SOPs that are not valid ones.
    pub broken: Vec<Broken<'s>>,
}

impl<'s> Sops<'s> {
    /// Lists these SOPs, and the broken files with the reason.
    pub fn of(sops: impl IntoIterator<Item = &'s Sop>, broken: &'s [BrokenSop]) -> Self {
        let sops: Vec<ListedSop<'s>> = sops.into_iter().map(|sop| ListedSop::of(sop, false)).collect();
        Self { count: sops.len(), sops, enabled: true, broken: broken.iter().map(Broken::of).collect() }
    }
}

/// One SOP.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Sop")]
pub struct ListedSop<'s> {
    name: &'s str,
    title: &'s str,
    description: &'s str,
    #[schemars(extend("enum" = ["builtin", "custom"]))]
    r#type: &'static str,
    parameters: &'s [SopParameter],
    steps: Vec<&'s str>,
    size: usize,
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'s str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    html: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    faults: Vec<LineFault<'s>>,
}

impl<'s> ListedSop<'s> {
    /// Describes a SOP, with its text if requested.
    pub fn of(sop: &'s Sop, with_content: bool) -> Self {
        let (kind, path) = match &sop.origin {
            SopOrigin::BuiltIn => ("builtin", None),
            SopOrigin::File(path) => ("custom", Some(path.display().to_string())),
        };
        Self {
            name: sop.name.as_str(),
            title: &sop.title,
            description: &sop.description,
            r#type: kind,
            parameters: &sop.parameters,
            steps: sop.steps.iter().map(|step| step.title.as_str()).collect(),
            size: sop.content.len(),
            path,
            content: with_content.then_some(&*sop.content),
            html: None,
            faults: Vec::new(),
        }
    }

    /// Describes a file that is not a valid SOP, with its text and its faults.
    pub(crate) fn of_draft(broken: &'s BrokenSop, draft: &'s SopDraft) -> Self {
        Self {
            name: draft.name.as_str(),
            title: draft.name.as_str(),
            description: "",
            r#type: "custom",
            parameters: &[],
            steps: Vec::new(),
            size: draft.content.len(),
            path: Some(broken.path.display().to_string()),
            content: Some(&*draft.content),
            html: None,
            faults: faults(broken),
        }
    }

    /// Adds its text as safe HTML, one string per block.
    #[must_use]
    pub fn rendered(self) -> Self {
        Self { html: self.content.map(markdown::blocks), ..self }
    }
}

/// A file that is not a valid SOP.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "BrokenSop")]
pub struct Broken<'s> {
    path: String,
    faults: Vec<LineFault<'s>>,
}

/// A fault in a line of a text.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LineFault<'s> {
    /// The line, from 1.
    pub(crate) line: usize,
    /// What is wrong there.
    pub(crate) message: Cow<'s, str>,
}

impl<'s> Broken<'s> {
    fn of(broken: &'s BrokenSop) -> Self {
        Self { path: broken.path.display().to_string(), faults: faults(broken) }
    }
}

fn faults(broken: &BrokenSop) -> Vec<LineFault<'_>> {
    broken
        .faults
        .iter()
        .map(|SopFault { line, message }| LineFault { line: *line, message: message.as_str().into() })
        .collect()
}
