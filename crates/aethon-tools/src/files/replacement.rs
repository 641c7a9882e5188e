//! Applies a change to a text, or says why it cannot be applied.

use std::ops::Range;

/// Maximum number of places that one change replaces.
const MAX_PLACES: usize = 10_000;
/// How many candidate places an error names.
const NAMED: usize = 5;

/// A change of a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change<'c> {
    /// The text to replace.
    pub(super) old: &'c str,
    /// The replacement.
    pub(super) new: &'c str,
    /// Whether to replace every occurrence.
    pub(super) replace_all: bool,
    /// The line at which the old text begins, counted from 1.
    pub(super) line: Option<usize>,
    /// The last line to replace.
    pub(super) end_line: Option<usize>,
}

/// Returns the changed text, and the number of places changed.
pub(super) fn changed(text: &str, change: &Change<'_>) -> Result<(String, usize), String> {
    // A model writes the line ends that it was shown; the file keeps its own.
    let ends = |part: &str| match text.contains("\r\n") {
        true => part.replace("\r\n", "\n").replace('\n', "\r\n"),
        false => part.to_owned(),
    };
    let (old, new) = (ends(change.old), ends(change.new));
    let places = match (change.line, change.end_line) {
        (None, Some(_)) => return Err("`end_line` needs `line`".into()),
        (Some(line), Some(end)) => vec![span(text, &old, line, end)?],
        (Some(line), None) if old.is_empty() => vec![before_line(text, line)?],
        (Some(line), None) => vec![at_line(text, &old, line)?],
        (None, None) => everywhere(text, &old, change.replace_all)?,
    };
    let is_whole_lines = change.end_line.is_some() || (old.is_empty() && change.line.is_some());
    let new = if is_whole_lines { as_lines(new, text) } else { new };
    let mut after = String::with_capacity(text.len() + new.len());
    let mut reached = 0;
    for place in &places {
        after.push_str(&text[reached..place.start]);
        // After a last line without a line end, start a new line.
        if is_whole_lines && place.start == text.len() && !text.is_empty() && !text.ends_with('\n') {
            after.push('\n');
        }
        after.push_str(&new);
        reached = place.end;
    }
    after.push_str(&text[reached..]);
    Ok((after, places.len()))
}

fn everywhere(text: &str, old: &str, replace_all: bool) -> Result<Vec<Range<usize>>, String> {
    if old.is_empty() {
        return Err("`old` is empty; quote the text to replace, or give `line` to insert there".into());
    }
    let places: Vec<Range<usize>> =
        text.match_indices(old).take(MAX_PLACES + 1).map(|(at, found)| at..at + found.len()).collect();
    match places.len() {
        0 => Err(not_found(text, old)),
        1 => Ok(places),
        _ if !replace_all => {
            let lines: Vec<String> =
                places.iter().take(NAMED).map(|place| line_of(text, place.start).to_string()).collect();
            let (count, more) = (places.len(), if places.len() > NAMED { " and others" } else { "" });
            Err(format!(
                "the old text occurs {count} times (at the lines {}{more}); quote more of what is around it, say which with \
                 `line`, or set `replace_all`",
                lines.join(", ")
            ))
        }
        count if count > MAX_PLACES => Err(format!("the old text occurs more than {MAX_PLACES} times")),
        _ => Ok(places),
    }
}

/// Finds the old text where it begins on this line.
fn at_line(text: &str, old: &str, line: usize) -> Result<Range<usize>, String> {
    let whole = line_range(text, line).ok_or_else(|| too_short(text, line))?;
    let found = text[whole.start..].match_indices(old).next().map(|(at, _)| whole.start + at);
    match found.filter(|at| *at < whole.end.max(whole.start + 1)) {
        Some(at) => Ok(at..at + old.len()),
        None => {
            let elsewhere = text.find(old).map(|at| format!("; it occurs at line {}", line_of(text, at)));
            Err(format!("the old text does not begin on line {line}{}", elsewhere.unwrap_or_default()))
        }
    }
}

/// Returns a range of lines, the first of which must equal the old text.
fn span(text: &str, old: &str, line: usize, end: usize) -> Result<Range<usize>, String> {
    if end < line {
        return Err(format!("`end_line` ({end}) is before `line` ({line})"));
    }
    let first = line_range(text, line).ok_or_else(|| too_short(text, line))?;
    let last = line_range(text, end).ok_or_else(|| too_short(text, end))?;
    let anchor = text[first.clone()].trim();
    if anchor != old.lines().next().unwrap_or_default().trim() {
        return Err(format!("line {line} is {anchor:?} and not what `old` says; read the file again"));
    }
    Ok(first.start..last.end)
}

/// Returns the position before a line, or the end of the text for the line after the last one.
fn before_line(text: &str, line: usize) -> Result<Range<usize>, String> {
    let lines = text.split_inclusive('\n').count();
    match line_range(text, line) {
        Some(range) => Ok(range.start..range.start),
        None if line == lines + 1 => Ok(text.len()..text.len()),
        None => Err(too_short(text, line)),
    }
}

/// Returns the range of a line, including its end.
fn line_range(text: &str, line: usize) -> Option<Range<usize>> {
    let mut start = 0;
    for (number, content) in text.split_inclusive('\n').enumerate() {
        if number + 1 == line {
            return Some(start..start + content.len());
        }
        start += content.len();
    }
    None
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

fn as_lines(new: String, text: &str) -> String {
    if new.is_empty() || new.ends_with('\n') {
        return new;
    }
    new + if text.contains("\r\n") { "\r\n" } else { "\n" }
}

fn too_short(text: &str, line: usize) -> String {
    format!("there is no line {line}; the file has {}", text.split_inclusive('\n').count())
}

/// Explains why the old text was not found: usually only the indentation was misremembered.
fn not_found(text: &str, old: &str) -> String {
    let plain = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let wanted: Vec<String> = old.lines().map(plain).filter(|line| !line.is_empty()).collect();
    let lines: Vec<(usize, String)> =
        text.lines().map(plain).enumerate().filter(|(_, line)| !line.is_empty()).collect();
    let near = wanted.first().and_then(|_| {
        let is_here = |window: &&[(usize, String)]| window.iter().map(|(_, line)| line).eq(wanted.iter());
        lines.windows(wanted.len()).find(is_here).map(|window| window[0].0 + 1)
    });
    match near {
        Some(line) => format!(
            "the old text is not in it; with other blanks it begins at line {line}, so quote it exactly"
        ),
        None => "the old text is not in it; read the file again and quote it exactly".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change<'c>(old: &'c str, new: &'c str) -> Change<'c> {
        Change { old, new, replace_all: false, line: None, end_line: None }
    }

    fn check(text: &str, change: &Change<'_>, expected: Result<&str, &str>) {
        match (changed(text, change), expected) {
            (Ok((after, _)), Ok(wanted)) => assert_eq!(after, wanted, "{change:?}"),
            (Err(why), Err(part)) => assert!(why.contains(part), "{change:?}: {why}"),
            (got, _) => panic!("{change:?}: {got:?}"),
        }
    }

    #[test]
    fn the_old_text_must_stand_there_once() {
        check("a b a", &change("b", "c"), Ok("a c a"));
        check("a b a", &change("a", "c"), Err("occurs 2 times (at the lines 1, 1)"));
        check("a b a", &Change { replace_all: true, ..change("a", "c") }, Ok("c b c"));
        check("a b a", &change("x", "c"), Err("not in it"));
        check("a", &change("", "c"), Err("`old` is empty"));
        check("a\n\tb\n", &change("a\n    b\n", "c"), Err("with other blanks it begins at line 1"));
        check("a b", &change(" b", ""), Ok("a"));
        check("äö\n", &change("ö", "ü"), Ok("äü\n"));
    }

    #[test]
    fn a_line_says_which_place_is_meant() {
        let at = |line| Change { line: Some(line), ..change("x", "y") };
        check("x\nx\nx\n", &at(2), Ok("x\ny\nx\n"));
        check("a x\nb\n", &at(1), Ok("a y\nb\n"));
        check("a\nx\n", &at(1), Err("does not begin on line 1; it occurs at line 2"));
        check("a\n", &at(9), Err("there is no line 9; the file has 1"));
    }

    #[test]
    fn lines_are_inserted_and_replaced_by_number() {
        let insert = |line, new| Change { line: Some(line), ..change("", new) };
        check("a\nb\n", &insert(2, "x"), Ok("a\nx\nb\n"));
        check("a\nb\n", &insert(3, "x"), Ok("a\nb\nx\n"));
        check("a\nb", &insert(3, "x"), Ok("a\nb\nx\n"));
        check("a\nb\n", &insert(4, "x"), Err("no line 4"));
        let lines = |old, line, end| Change { line: Some(line), end_line: Some(end), ..change(old, "new") };
        check("a\nb\nc\nd\n", &lines("b", 2, 3), Ok("a\nnew\nd\n"));
        check("a\nb\nc\nd\n", &lines("c", 2, 3), Err("line 2 is \"b\""));
        check("a\nb\n", &lines("b", 2, 1), Err("is before"));
        check("a\nb\n", &lines("b", 2, 5), Err("no line 5"));
    }

    #[test]
    fn the_file_keeps_its_line_ends() {
        check("a\r\nb\r\nc\r\n", &change("a\nb", "x\ny"), Ok("x\r\ny\r\nc\r\n"));
    }
}
