//! Reads calendar files (iCalendar, RFC 5545) and contact files (vCard, RFC 6350 and before) as short texts.

use super::transfer;

/// How many events or contacts are read.
const MAX_ENTRIES: usize = 20;
/// How much of a file is read, in characters.
const MAX_FILE: usize = 512 << 10;
/// The longest value, in characters.
const MAX_VALUE: usize = 300;
/// The longest description or note, in characters.
const MAX_NOTE: usize = 2000;

/// Returns the text of a calendar file; `None` if it holds nothing that can be read.
pub(super) fn calendar(text: &str) -> Option<String> {
    let (mut entries, mut entry, mut method): (Vec<Vec<String>>, Option<Entry>, String) = Default::default();
    let mut within: Vec<String> = Vec::new();
    for field in fields(text) {
        match field.name.as_str() {
            "BEGIN" => {
                let kind = field.value.trim().to_ascii_uppercase();
                if let Some(title) =
                    title_of(&kind).filter(|_| entry.is_none() && entries.len() < MAX_ENTRIES)
                {
                    entry = Some(Entry { title, depth: within.len(), lines: Vec::new() });
                }
                within.push(kind);
            }
            "END" => {
                within.pop();
                if let Some(ended) = entry.take_if(|entry| entry.depth >= within.len()) {
                    entries.push(ended.lines);
                }
            }
            "METHOD" if entry.is_none() => method = shortened(&field.value, MAX_VALUE).to_ascii_uppercase(),
            _ => {
                // Alarms inside an event have fields of the same names.
                if let Some(entry) = entry.as_mut().filter(|entry| entry.depth + 1 == within.len()) {
                    entry.add_event_field(&field);
                }
            }
        }
    }
    entries.extend(entry.map(|entry| entry.lines));
    entries.retain(|lines| !lines.is_empty());
    let note = match method.as_str() {
        "REQUEST" => "Invitation\n",
        "CANCEL" => "Cancellation\n",
        "REPLY" => "Reply to an invitation\n",
        _ => "",
    };
    joined(entries).map(|text| format!("{note}{text}"))
}

fn title_of(kind: &str) -> Option<&'static str> {
    match kind {
        "VEVENT" => Some("Event"),
        "VTODO" => Some("Task"),
        "VJOURNAL" => Some("Journal"),
        _ => None,
    }
}

struct Entry {
    title: &'static str,
    depth: usize,
    lines: Vec<String>,
}

impl Entry {
    fn add_event_field(&mut self, field: &Field) {
        let (label, value) = match field.name.as_str() {
            "SUMMARY" => (self.title, shortened(&unescaped(&field.value), MAX_VALUE)),
            "DTSTART" => ("Start", time(field)),
            "DTEND" => ("End", time(field)),
            "DUE" => ("Due", time(field)),
            "DURATION" => ("Duration", shortened(&field.value, MAX_VALUE)),
            "LOCATION" => ("Place", shortened(&unescaped(&field.value), MAX_VALUE)),
            "ORGANIZER" => ("Organiser", person(field)),
            "ATTENDEE" if self.lines.len() < 40 => ("Attendee", person(field)),
            "RRULE" => ("Repeats", shortened(&field.value, MAX_VALUE)),
            "STATUS" => ("Status", shortened(&field.value, MAX_VALUE).to_lowercase()),
            "URL" => ("Link", shortened(&field.value, MAX_VALUE)),
            "DESCRIPTION" => ("Description", shortened(&unescaped(&field.value), MAX_NOTE)),
            _ => return,
        };
        push(&mut self.lines, label, &value);
    }
}

/// Returns the text of a contact file; `None` if it holds nothing that can be read.
pub(super) fn contacts(text: &str) -> Option<String> {
    let mut entries: Vec<Vec<String>> = Vec::new();
    let (mut lines, mut has_name) = (Vec::new(), false);
    for field in fields(text) {
        if field.name == "BEGIN" || field.name == "END" {
            if !lines.is_empty() && entries.len() < MAX_ENTRIES {
                entries.push(std::mem::take(&mut lines));
            }
            has_name = false;
            continue;
        }
        let plain = || shortened(&unescaped(&field.value), MAX_VALUE);
        let listed = || {
            let parts: Vec<String> = pieces(&field.value)
                .iter()
                .map(|part| unescaped(part).trim().to_owned())
                .filter(|part| !part.is_empty())
                .collect();
            shortened(&parts.join(", "), MAX_VALUE)
        };
        let (label, value) = match field.name.as_str() {
            "FN" => ("Name", plain()),
            "N" if !has_name => ("Name", name(&field.value)),
            "NICKNAME" => ("Nickname", plain()),
            "ORG" => ("Organisation", listed()),
            "TITLE" | "ROLE" => ("Position", plain()),
            "EMAIL" => ("Mail", plain()),
            "TEL" => ("Phone", plain().trim_start_matches("tel:").to_owned()),
            "ADR" => ("Address", listed()),
            "URL" => ("Link", plain()),
            "BDAY" => ("Birthday", plain()),
            "NOTE" => ("Note", shortened(&unescaped(&field.value), MAX_NOTE)),
            _ => continue,
        };
        if field.name == "FN" {
            lines.retain(|line: &String| !line.starts_with("Name: "));
        }
        has_name |= field.name == "FN";
        if lines.len() < 40 {
            push(&mut lines, label, &value);
        }
    }
    if !lines.is_empty() && entries.len() < MAX_ENTRIES {
        entries.push(lines);
    }
    joined(entries)
}

/// Returns a structured name in the order in which it is spoken.
fn name(value: &str) -> String {
    let parts: Vec<String> = pieces(value).iter().map(|part| unescaped(part)).collect();
    let ordered = [3, 1, 2, 0, 4].iter().filter_map(|&at| parts.get(at)).map(|part| part.trim().to_owned());
    let words: Vec<String> = ordered.filter(|part| !part.is_empty()).collect();
    shortened(&words.join(" "), MAX_VALUE)
}

fn push(lines: &mut Vec<String>, label: &str, value: &str) {
    let value = value.trim();
    if !value.is_empty() {
        lines.push(format!("{label}: {value}"));
    }
}

fn joined(entries: Vec<Vec<String>>) -> Option<String> {
    let texts: Vec<String> = entries.iter().map(|lines| lines.join("\n")).collect();
    Some(texts.join("\n\n")).filter(|text| !text.is_empty())
}

/// A field: `NAME;PARAMETER=VALUE:VALUE`.
struct Field {
    name: String,
    parameters: Vec<(String, String)>,
    value: String,
}

impl Field {
    fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Parses the fields of a file, with folded lines joined.
fn fields(text: &str) -> Vec<Field> {
    let text: String = text.chars().take(MAX_FILE).collect();
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let is_open = |last: &String| {
            // In vCard 2.1 a value in quoted-printable continues after `=`.
            last.ends_with('=') && last.to_ascii_uppercase().contains("QUOTED-PRINTABLE")
        };
        match (lines.last_mut(), line.strip_prefix([' ', '\t'])) {
            (Some(last), _) if is_open(last) => {
                last.pop();
                last.push_str(line.trim_start());
            }
            (Some(last), Some(rest)) => last.push_str(rest),
            _ => lines.push(line.to_owned()),
        }
    }
    lines.iter().filter_map(|line| field(line)).collect()
}

fn field(line: &str) -> Option<Field> {
    let mut is_quoted = false;
    let colon = line.char_indices().find(|&(_, c)| {
        is_quoted ^= c == '"';
        c == ':' && !is_quoted
    });
    let (head, value) = line.split_at(colon?.0);
    let mut words = head.split(';');
    let name = words.next()?.rsplit('.').next()?.trim().to_ascii_uppercase();
    let parameters: Vec<(String, String)> = words
        .map(|word| word.split_once('=').unwrap_or(("TYPE", word)))
        .map(|(name, value)| (name.trim().to_ascii_uppercase(), value.trim_matches('"').to_owned()))
        .collect();
    let is_encoded = parameters.iter().any(|(_, value)| value.eq_ignore_ascii_case("quoted-printable"));
    let charset = parameters.iter().find(|(name, _)| name == "CHARSET").map(|(_, value)| value.clone());
    let value = match is_encoded {
        true => super::charset::text(&transfer::quoted_printable(&value.as_bytes()[1..]), charset.as_deref()),
        false => value[1..].to_owned(),
    };
    (!name.is_empty()).then_some(Field { name, parameters, value })
}

/// Splits a value at its semicolons.
fn pieces(value: &str) -> Vec<String> {
    let (mut pieces, mut is_escaped) = (vec![String::new()], false);
    for c in value.chars() {
        if c == ';' && !is_escaped {
            pieces.push(String::new());
        } else if let Some(last) = pieces.last_mut() {
            last.push(c);
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    pieces
}

fn unescaped(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut rest = value.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => match rest.next() {
                Some('n' | 'N') => out.push('\n'),
                Some(other) => out.push(other),
                None => {}
            },
            _ => out.push(c),
        }
    }
    out
}

fn shortened(value: &str, most: usize) -> String {
    let value = value.trim();
    match value.char_indices().nth(most) {
        Some((at, _)) => format!("{} …", &value[..at]),
        None => value.to_owned(),
    }
}

/// Returns a person's name and address.
fn person(field: &Field) -> String {
    let address = field.value.trim();
    let address = address
        .get(..7)
        .filter(|start| start.eq_ignore_ascii_case("mailto:"))
        .map_or(address, |_| &address[7..]);
    let whole = match field.parameter("CN").filter(|name| !name.trim().is_empty() && *name != address) {
        Some(name) => format!("{name} <{address}>"),
        None => address.to_owned(),
    };
    shortened(&whole, MAX_VALUE)
}

/// Writes `20260803T100000Z` as people do.
fn time(field: &Field) -> String {
    let value = field.value.trim();
    let digits =
        |from: usize, to: usize| value.get(from..to).filter(|part| part.bytes().all(|b| b.is_ascii_digit()));
    let date = || Some(format!("{}-{}-{}", digits(0, 4)?, digits(4, 6)?, digits(6, 8)?));
    let Some(date) = date() else { return shortened(value, MAX_VALUE) };
    let clock = digits(9, 11).zip(digits(11, 13)).filter(|_| value.as_bytes().get(8) == Some(&b'T'));
    match (clock, value.ends_with('Z'), field.parameter("TZID")) {
        (None, ..) => date,
        (Some((hour, minute)), true, _) => format!("{date} {hour}:{minute} UTC"),
        (Some((hour, minute)), false, Some(zone)) => {
            format!("{date} {hour}:{minute} ({})", shortened(zone, 60))
        }
        (Some((hour, minute)), false, None) => format!("{date} {hour}:{minute}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calendars_are_read_as_text() {
        let text = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nMETHOD:REQUEST\r\nBEGIN:VTIMEZONE\r\nTZID:Europe/Berlin\r\nBEGIN:STANDARD\r\n\
            DTSTART:19701025T030000\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\nBEGIN:VEVENT\r\nUID:1\r\nSUMMARY;LANGUAGE=de:Zahnarzt\\, \r\n Kontrolle\r\n\
            DTSTART;TZID=Europe/Berlin:20260803T100000\r\nDTEND;TZID=\"Europe/Berlin\":20260803T103000\r\nLOCATION:Hauptstr. 1\\; Berlin\r\n\
            ORGANIZER;CN=\"Dr. Eve: x\":mailto:eve@y.example\r\nDESCRIPTION:Bring\\nthe card\r\nRRULE:FREQ=YEARLY\r\nBEGIN:VALARM\r\n\
            DESCRIPTION:alarm\r\nEND:VALARM\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
        assert_eq!(
            calendar(text).unwrap(),
            "Invitation\nEvent: Zahnarzt, Kontrolle\nStart: 2026-08-03 10:00 (Europe/Berlin)\nEnd: 2026-08-03 10:30 (Europe/Berlin)\n\
             Place: Hauptstr. 1; Berlin\nOrganiser: Dr. Eve: x <eve@y.example>\nDescription: Bring\nthe card\nRepeats: FREQ=YEARLY"
        );
        let short = |body: &str| {
            calendar(&format!("BEGIN:VCALENDAR\nBEGIN:VEVENT\n{body}\nEND:VEVENT\nEND:VCALENDAR"))
        };
        assert_eq!(
            short("SUMMARY:a\nDTSTART;VALUE=DATE:20260803").as_deref(),
            Some("Event: a\nStart: 2026-08-03")
        );
        assert_eq!(short("DTSTART:20260803T080000Z").as_deref(), Some("Start: 2026-08-03 08:00 UTC"));
        assert_eq!(short("ATTENDEE:mailto:a@b.example").as_deref(), Some("Attendee: a@b.example"));
        assert_eq!(short(""), None);
        assert_eq!(calendar("BEGIN:VEVENT\nSUMMARY:cut off").as_deref(), Some("Event: cut off"));
        assert_eq!(
            calendar("BEGIN:VTODO\nSUMMARY:milk\nDUE:20260803\nEND:VTODO").as_deref(),
            Some("Task: milk\nDue: 2026-08-03")
        );
        let many = "BEGIN:VEVENT\nSUMMARY:a\nEND:VEVENT\n".repeat(1000);
        assert_eq!(calendar(&many).unwrap().matches("Event: a").count(), MAX_ENTRIES);
        assert_eq!(calendar("no calendar at all"), None);
        assert_eq!(
            calendar("END:VEVENT\nEND:X\nBEGIN:VEVENT\nDTSTART:ä\nEND:VEVENT").as_deref(),
            Some("Start: ä")
        );
    }

    #[test]
    fn contacts_are_read_as_text() {
        let text = "BEGIN:VCARD\nVERSION:3.0\nN:Lovelace;Ada;;Dr.;\nFN:Dr. Ada Lovelace\nORG:Engines;Analysis\nitem1.EMAIL;type=WORK:ada@x.example\n\
            TEL;TYPE=cell:+44 1\nADR;TYPE=home:;;1 Street;London;;N1;UK\nNOTE:likes\\nnumbers\nPHOTO;ENCODING=b:AAAA\n AAAA\nEND:VCARD";
        assert_eq!(
            contacts(text).unwrap(),
            "Name: Dr. Ada Lovelace\nOrganisation: Engines, Analysis\nMail: ada@x.example\nPhone: +44 1\n\
             Address: 1 Street, London, N1, UK\nNote: likes\nnumbers"
        );
        let old = "BEGIN:VCARD\nVERSION:2.1\nN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCller;J=\n=C3=BCrgen\nTEL;CELL:1\nEND:VCARD";
        assert_eq!(contacts(old).unwrap(), "Name: Jürgen Müller\nPhone: 1");
        let two = "BEGIN:VCARD\nFN:A\nEND:VCARD\nBEGIN:VCARD\nFN:B\nTEL;VALUE=uri:tel:+1\nEND:VCARD";
        assert_eq!(contacts(two).unwrap(), "Name: A\n\nName: B\nPhone: +1");
        assert_eq!(contacts("BEGIN:VCARD\nEND:VCARD"), None);
        assert_eq!(contacts("garbage"), None);
    }
}
