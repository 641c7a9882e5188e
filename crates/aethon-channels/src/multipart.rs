//! A file as the form that browsers send it in (`multipart/form-data`).

use aethon_core::ids::unique;
use aethon_core::message::Attachment;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::talk::Fault;

/// The form: its content type and its bytes.
pub(crate) fn form(
    fields: &[(&str, String)],
    field: &str,
    file: &Attachment,
) -> Result<(String, Vec<u8>), Fault> {
    let bytes = STANDARD.decode(&file.data);
    let bytes = bytes.map_err(|_| Fault::Refused("the file is not valid base64".into()))?;
    let boundary = format!("aethon{}", unique());
    let mut form = Vec::with_capacity(bytes.len() + 1024);
    for (name, value) in fields {
        form.extend_from_slice(
            format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
                .as_bytes(),
        );
    }
    let plain = |text: &str| text.chars().filter(|c| !c.is_control() && *c != '"').collect::<String>();
    let head = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"{field}\"; filename=\"{}\"\r\nContent-Type: {}\r\n\r\n",
        plain(&file.name),
        plain(&file.mime),
    );
    form.extend_from_slice(head.as_bytes());
    form.extend_from_slice(&bytes);
    form.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
    Ok((format!("multipart/form-data; boundary={boundary}"), form))
}
