//! The line that replaces a part of a tool's output that was too much to keep. Code that cuts the output further finds
//! this line again, so that the kept part does not pass for the whole.

/// The end of such a line.
const END: &str = " bytes were left out here ...]";
/// Its beginning.
const BEGIN: &str = "[... ";

/// Returns the line for `gone` bytes of `total`.
pub fn left_out(gone: u64, total: u64) -> String {
    format!("{BEGIN}{gone} of {total}{END}")
}

/// Returns how much was left out of this output, in the words of the first such line: `5 of 10 bytes`.
pub fn find_left_out(output: &str) -> Option<String> {
    output.match_indices(END).find_map(|(at, _)| {
        let line = output[..at].rfind('\n').map_or(0, |end| end + 1);
        let (gone, total) = output[line..at].strip_prefix(BEGIN)?.split_once(" of ")?;
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        (is_number(gone) && is_number(total)).then(|| format!("{gone} of {total} bytes"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_found_again_and_nothing_else_is() {
        let text = format!("a\n{}\nb", left_out(5, 10));
        assert_eq!(find_left_out(&text).as_deref(), Some("5 of 10 bytes"));
        assert_eq!(find_left_out(&left_out(1, 2)).as_deref(), Some("1 of 2 bytes"));
        for other in
            ["", "5 of 10 bytes were left out here ...]", "[... x of y bytes were left out here ...]"]
        {
            assert_eq!(find_left_out(other), None, "{other}");
        }
    }
}
