//! Encodes a file as a form, as browsers send it (`multipart/form-data`).

use crate::ids::unique;

/// Returns the form's content type and its bytes. `field` is the form field of the file.
pub fn form(
    fields: &[(&str, String)],
    (field, name, mime): (&str, &str, &str),
    bytes: &[u8],
) -> (String, Vec<u8>) {
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
        plain(name),
        plain(mime),
    );
    form.extend_from_slice(head.as_bytes());
    form.extend_from_slice(bytes);
    form.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
    (format!("multipart/form-data; boundary={boundary}"), form)
}
