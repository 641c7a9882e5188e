//! The lines of a crontab: a time and a command that a shell reads.

use super::marks::is_mark;

/// Returns the command of a line, behind its five fields or a word such as `@daily`. What follows a bare `%` is the
/// command's input.
pub(super) fn command(line: &str) -> Option<String> {
    // The table so far, which is unknown, ends with a line end of its own.
    let line = line.trim_start_matches(is_mark).trim_start();
    if line.starts_with('#') {
        return None;
    }
    let fields = if line.starts_with('@') { 1 } else { 5 };
    let mut rest = line;
    for _ in 0..fields {
        rest = rest.split_once(char::is_whitespace)?.1.trim_start();
    }
    let mut command = String::new();
    let mut characters = rest.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\\' if characters.next_if_eq(&'%').is_some() => command.push('%'),
            '%' => break,
            _ => command.push(c),
        }
    }
    (!command.trim().is_empty()).then_some(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_of_a_line_stands_behind_its_time() {
        let check = |line: &str, expected: Option<&str>| {
            assert_eq!(command(line).as_deref(), expected, "{line:?}");
        };
        check("* * * * * id", Some("id"));
        check("  */5 0 1-7 * mon\trm -fr /  ", Some("rm -fr /  "));
        check("@daily backup --all", Some("backup --all"));
        check("0 4 * * * date +\\%F%input", Some("date +%F"));
        check("# * * * * * id", None);
        check("\u{e010}@reboot id", Some("id"));
        check("MAILTO=ada", None);
        check("* * * *", None);
        check("", None);
    }
}
