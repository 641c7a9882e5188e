//! `open`: shows a page or a file in the person's usual program for it. Refuses files that would be executed instead of
//! shown.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aethon_core::tool::{ArgumentRole, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::program::{Programs, Until};
use crate::files::Workspace;

/// URL schemes that may be opened.
const SCHEMES: [&str; 3] = ["https://", "http://", "mailto:"];

/// Extensions of files that desktops execute instead of showing.
const RUN: [&str; 14] = [
    "app", "appimage", "bat", "command", "desktop", "exe", "jar", "msi", "pkg", "scpt", "scptd", "sh",
    "terminal", "workflow",
];

/// Opens pages and files.
pub(crate) struct Open {
    spec: ToolSpec,
    programs: Programs,
    workspace: Arc<Workspace>,
    program: PathBuf,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// An address that begins with https, http or mailto, or the path of a file.
    target: String,
}

impl Open {
    /// Creates the tool, or says why nothing can be opened here.
    pub(crate) fn new(programs: &Programs, workspace: Arc<Workspace>) -> Result<Self, String> {
        let program = if programs.is_mac() {
            programs.find("open").ok_or("open is not on the search path")?
        } else if !programs.has_variable("WAYLAND_DISPLAY") && !programs.has_variable("DISPLAY") {
            return Err(
                "there is no graphical session: neither WAYLAND_DISPLAY nor DISPLAY is set for the service"
                    .into(),
            );
        } else {
            programs.find("xdg-open").ok_or("install xdg-utils (xdg-open)")?
        };
        let spec = ToolSpec::of::<Arguments>(
            "open",
            "Shows the person a web page or a file on the machine that the assistant runs on. You do not see what is shown.",
        )
        .with_role("target", ArgumentRole::Url);
        Ok(Self { spec, programs: programs.clone(), workspace, program })
    }
}

#[async_trait]
impl Tool for Open {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let Arguments { target } = self.spec.parse(input)?;
        let target = target.trim().to_owned();
        let target = if is_address(&target)? {
            OsString::from(target)
        } else {
            let workspace = self.workspace.for_turn(context.trust());
            let file = tokio::task::spawn_blocking(move || file(&workspace, &target)).await;
            file.map_err(|_| {
                ToolError::failed("looking at the file failed because of a fault in the program")
            })??
            .into()
        };
        self.programs.run(&self.program, vec![target], None, Until::Started).await?;
        Ok(ToolOutput::text("opened"))
    }
}

/// Returns whether the target is a URL; fails if it is neither a URL nor a path.
fn is_address(target: &str) -> Result<bool, ToolError> {
    if target.chars().any(|c| c.is_control() || c.is_whitespace() && target.contains("://")) {
        return Err(ToolError::failed("`target` has blanks or control characters in it"));
    }
    let lower = target.to_ascii_lowercase();
    if SCHEMES.iter().any(|scheme| lower.starts_with(scheme)) {
        return Ok(true);
    }
    let scheme = lower.split_once(':').map(|(scheme, _)| scheme);
    let is_scheme = |name: &str| {
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
    };
    match scheme.filter(|name| !name.is_empty() && is_scheme(name)) {
        Some(name) => Err(ToolError::denied(format!(
            "addresses of the kind {name:?} are not opened; https, http and mailto are"
        ))),
        None => Ok(false),
    }
}

/// Returns the real path of a file that would be shown, not executed. Blocks.
fn file(workspace: &Workspace, path: &str) -> Result<PathBuf, ToolError> {
    let opened = workspace.open(path)?;
    let mode = opened.file.metadata().map_or(0o111, |metadata| metadata.permissions().mode());
    let ending = Path::new(&opened.path).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    if mode & 0o111 != 0 || RUN.contains(&ending.to_ascii_lowercase().as_str()) {
        return Err(ToolError::denied(format!("{path:?} would be run and not shown")));
    }
    Ok(opened.path)
}
