//! The line that stands where a tool had to leave out a part of its output, because it was more than anybody keeps. Who cuts the
//! output further finds the line again, so that nobody is told that what was kept is all there was.

/// What such a line ends with.
const END: &str = " bytes were left out here ...]";
/// And begins with.
const BEGIN: &str = "[... ";

/// The line for so many bytes of so many.
pub fn left_out(gone: u64, total: u64) -> String {
    format!("{BEGIN}{gone} of {total}{END}")
}

/// How much was left out of this output, in the words of the first such line: `5 of 10 bytes`.
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
