//! The files shared by AWS's tools: `~/.aws/credentials` and `~/.aws/config`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use aethon_core::secret::Secret;
use aethon_files::read_given;

use super::key_pair::Credentials;
use crate::options::AwsEnvironment;

/// The largest file that is read.
const MAX_SIZE: usize = 1024 * 1024;

/// The settings of a profile, from both files.
type Profile = HashMap<String, String>;

/// Returns the profile's credentials, or `None` if it has none. Returns a sentence as an error if it needs something
/// unsupported.
pub(super) fn credentials(environment: &AwsEnvironment) -> Result<Option<Credentials>, String> {
    let name = environment.profile_name();
    let Some(mut profile) = profile(environment) else {
        return match &environment.profile {
            Some(name) => Err(format!(
                "The AWS profile {name} (AWS_PROFILE) is neither in the credentials file nor in the config file; correct one \
                 of them."
            )),
            None => Ok(None),
        };
    };
    let mut take = |key: &str| profile.remove(key).filter(|value| !value.is_empty());
    if let (Some(id), Some(secret)) = (take("aws_access_key_id"), take("aws_secret_access_key")) {
        return Ok(Some(Credentials {
            access_key_id: id,
            secret_access_key: Secret::new(secret),
            session_token: take("aws_session_token").map(Secret::new).unwrap_or_default(),
            expires: None,
        }));
    }
    let unsupported =
        ["role_arn", "sso_session", "sso_start_url", "credential_process", "web_identity_token_file"]
            .into_iter()
            .find(|key| profile.contains_key(*key));
    match unsupported {
        Some(key) => Err(format!(
            "The AWS profile {name} wants {key}, which is not supported; put keys into it (`aws configure \
             export-credentials` prints some), or set AWS_BEARER_TOKEN_BEDROCK."
        )),
        None => Ok(None),
    }
}

/// Returns the profile's region.
pub(super) fn region(environment: &AwsEnvironment) -> Option<String> {
    profile(environment)?.remove("region").filter(|region| !region.is_empty())
}

fn profile(environment: &AwsEnvironment) -> Option<Profile> {
    let name = environment.profile_name();
    let file = |given: &Option<PathBuf>, usual: &str| {
        let usual = || environment.user_home.as_ref().map(|home| home.join(".aws").join(usual));
        given.clone().or_else(usual).and_then(|path| read(&path)).unwrap_or_default()
    };
    let config = file(&environment.config_file, "config");
    let credentials = file(&environment.shared_credentials_file, "credentials");
    let in_config = sections(&config).into_iter().find_map(|(section, values)| {
        let section = section.strip_prefix("profile ").map(str::trim).unwrap_or(&section).to_owned();
        (section == name).then_some(values)
    });
    let in_credentials =
        sections(&credentials).into_iter().find_map(|(section, values)| (section == name).then_some(values));
    match (in_config, in_credentials) {
        (None, None) => None,
        (config, credentials) => {
            let mut profile = config.unwrap_or_default();
            profile.extend(credentials.unwrap_or_default());
            Some(profile)
        }
    }
}

/// Returns a file's text. A missing, unreadable or absurdly large file counts as absent.
fn read(path: &Path) -> Option<String> {
    let contents = read_given(path, MAX_SIZE).ok()??;
    contents.is_whole.then(|| String::from_utf8_lossy(&contents.bytes).into_owned())
}

/// Parses the sections, with keys in lower case. Indented lines belong to the key before them and are skipped.
fn sections(text: &str) -> Vec<(String, Profile)> {
    let mut sections: Vec<(String, Profile)> = Vec::new();
    for line in text.trim_start_matches('\u{feff}').lines() {
        let is_nested = line.starts_with([' ', '\t']);
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            sections.push((name.split_whitespace().collect::<Vec<_>>().join(" "), Profile::new()));
        } else if let (false, Some((key, value)), Some((_, values))) =
            (is_nested, line.split_once('='), sections.last_mut())
        {
            let value = value.split(" #").next().unwrap_or_default().trim();
            values.insert(key.trim().to_ascii_lowercase(), value.to_owned());
        }
    }
    sections
}
