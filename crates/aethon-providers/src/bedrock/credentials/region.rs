//! Bedrock's region and bearer key, where the environment and its files decide them.

use super::files;
use crate::options::Options;

/// Returns the options with region and bearer key filled in, or a sentence with the remedy.
pub(crate) fn resolve(options: &Options) -> Result<Options, String> {
    let mut options = options.clone();
    options.aws.region = Some(region(&options)?);
    if options.api_key.is_empty() {
        options.api_key = options.aws.bearer_token.clone();
    }
    Ok(options)
}

/// Returns the region from the configuration or environment, else from the profile, else from the model's ARN.
pub(super) fn region(options: &Options) -> Result<String, String> {
    let given = |region: &Option<String>| region.clone().filter(|region| !region.trim().is_empty());
    let found = given(&options.aws.region)
        .or_else(|| files::region(&options.aws))
        .or_else(|| arn_region(&options.model_id))
        .ok_or(
            "No region is set for Amazon Bedrock; set model.region or the environment variable AWS_REGION.",
        )?;
    let region = found.trim().to_owned();
    // It becomes part of a host name.
    let is_word =
        region.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if is_word { Ok(region) } else { Err(format!("`{region}` is not a region of AWS; set model.region.")) }
}

fn arn_region(model: &str) -> Option<String> {
    let mut parts = model.split(':');
    (parts.next() == Some("arn"))
        .then(|| parts.nth(2).map(str::to_owned))?
        .filter(|region| !region.is_empty())
}
