//! Encodes an attachment as a multipart form.

use aethon_core::message::Attachment;
use aethon_core::multipart;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::talk::Fault;

/// Returns the content type and the bytes of the form.
pub(crate) fn form(
    fields: &[(&str, String)],
    field: &str,
    file: &Attachment,
) -> Result<(String, Vec<u8>), Fault> {
    let bytes = STANDARD.decode(&file.data);
    let bytes = bytes.map_err(|_| Fault::Refused("the file is not valid base64".into()))?;
    Ok(multipart::form(fields, (field, &file.name, &file.mime), &bytes))
}
