//! Splits JSON objects that follow each other in any way: one per line, in a list, or written over many lines.

/// Splits the objects at the top, from bytes that may be cut anywhere. What stands between them is skipped.
#[derive(Debug, Default)]
pub(super) struct Objects {
    object: Vec<u8>,
    depth: usize,
    is_in_string: bool,
    is_escaped: bool,
}

impl Objects {
    /// Adds bytes and returns the objects that they complete.
    pub(super) fn push(&mut self, bytes: &[u8], objects: &mut Vec<String>) {
        for &byte in bytes {
            if self.depth == 0 && byte != b'{' {
                continue;
            }
            self.object.push(byte);
            if self.is_in_string {
                match byte {
                    _ if self.is_escaped => self.is_escaped = false,
                    b'\\' => self.is_escaped = true,
                    b'"' => self.is_in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.is_in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth -= 1,
                _ => {}
            }
            if self.depth == 0 {
                objects.extend(self.finish());
            }
        }
    }

    /// Returns the object that the end of the body cut off, if there is one.
    pub(super) fn finish(&mut self) -> Option<String> {
        let object = std::mem::take(self).object;
        (!object.is_empty()).then(|| String::from_utf8_lossy(&object).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_the_same_however_they_are_cut() {
        let text = "\u{feff}[{\"a\": \"}\\\"{\"},\n {\"ü\": [{}]}]\n{\n  \"c\": 1\n}{\"cut\": \"o";
        let expected = ["{\"a\": \"}\\\"{\"}", "{\"ü\": [{}]}", "{\n  \"c\": 1\n}", "{\"cut\": \"o"];
        for cut in 0..=text.len() {
            let (mut parser, mut objects) = (Objects::default(), Vec::new());
            parser.push(&text.as_bytes()[..cut], &mut objects);
            parser.push(&text.as_bytes()[cut..], &mut objects);
            objects.extend(parser.finish());
            assert_eq!(objects, expected, "at {cut}");
        }
    }
}
