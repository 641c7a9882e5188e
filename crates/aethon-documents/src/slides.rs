//! Presentations (PPTX): the slides in their order, each with its tables and its notes.

use std::collections::BTreeMap;

use crate::error::Error;
use crate::flow::Flow;
use crate::output::Output;
use crate::package::{Package, Relation};
use crate::xml::{self, Node};

const MAIN: &str = "ppt/presentation.xml";
/// The most slides that are read.
const MAX_SLIDES: usize = 5_000;

pub(crate) fn read(package: &mut Package<'_>, out: &mut Output<'_>) -> Result<(), Error> {
    let slides = in_order(package);
    if slides.is_empty() {
        return Err(Error::new("it has no slides"));
    }
    if slides.len() > MAX_SLIDES {
        out.note(format!("It has {} slides; the first {MAX_SLIDES} are here.", slides.len()));
    }
    for (number, slide) in slides.iter().take(MAX_SLIDES).enumerate() {
        if out.is_full() {
            break;
        }
        let number = number + 1;
        let Some(text) = package.text(slide)? else {
            out.note(format!("Slide {number} is missing."));
            continue;
        };
        let hidden = if is_hidden(&text) { " (hidden)" } else { "" };
        Flow::new(out).mark(&format!("## Slide {number}{hidden}"));
        part(&text, out);
        let relations = package.relations(slide);
        extra(package, &relations, "diagramData", "", out);
        extra(package, &relations, "chart", "Chart:", out);
        extra(package, &relations, "notesSlide", "Notes:", out);
        extra(package, &relations, "comments", "Comments:", out);
        out.gap();
    }
    Ok(())
}

/// Returns the slides in the order in which they are shown.
fn in_order(package: &mut Package<'_>) -> Vec<String> {
    let relations = package.relations(MAIN);
    let mut slides = Vec::new();
    if let Ok(Some(text)) = package.text(MAIN) {
        let read = xml::walk(&text, &mut |node| {
            if let Node::Start(tag) = node
                && tag.is("sldId")
                && let Some(slide) = tag.prefixed("r:id").and_then(|id| relations.get(&id))
            {
                slides.push(slide.target.clone());
            }
            true
        });
        // The list may be damaged while the slides are not.
        drop(read);
    }
    if slides.is_empty() {
        let by_number = |number: usize| format!("ppt/slides/slide{number}.xml");
        slides = (1..=MAX_SLIDES).map(by_number).take_while(|name| package.has(name)).collect();
    }
    slides
}

fn is_hidden(slide: &str) -> bool {
    let head = &slide[..slide.floor_char_boundary(2_000)];
    head.find("<p:sld ").is_some_and(|at| {
        let tag = head[at..].split('>').next().unwrap_or_default();
        tag.contains("show=\"0\"") || tag.contains("show=\"false\"")
    })
}

/// Reads what else belongs to a slide.
fn extra(
    package: &mut Package<'_>,
    relations: &BTreeMap<String, Relation>,
    kind: &str,
    title: &str,
    out: &mut Output<'_>,
) {
    for relation in relations.values().filter(|relation| relation.is(kind)) {
        if let Ok(Some(text)) = package.text(&relation.target)
            && has_words(&text)
        {
            if !title.is_empty() {
                out.gap();
                out.push(title);
                out.push("\n");
            }
            part(&text, out);
        }
    }
}

fn has_words(part: &str) -> bool {
    part.contains("<a:t>") || part.contains("<c:v>") || part.contains("text>")
}

fn part(text: &str, out: &mut Output<'_>) {
    let mut flow = Flow::new(out);
    let (mut is_text, mut skipped, mut is_number) = (false, 0_usize, false);
    let read = xml::walk(text, &mut |node| {
        match node {
            Node::Start(tag) => match tag.name() {
                _ if skipped > 0 => skipped += 1,
                // The number of the slide and its date stand in fields.
                "Fallback" => skipped = 1,
                "fld" => is_number = tag.attribute("type").is_some_and(|kind| kind == "slidenum"),
                "t" => is_text = !is_number,
                // The values of a chart, and the words of a comment.
                "v" | "text" if matches!(tag.prefix(), "c" | "p") => is_text = true,
                "br" => flow.break_line(),
                "tbl" => flow.begin_table(),
                "tc" => flow.begin_cell(),
                "blip" => flow.note("Pictures on the slides are not shown."),
                _ => {}
            },
            Node::End(_) if skipped > 0 => skipped -= 1,
            Node::End(name) => match name {
                "fld" => is_number = false,
                "t" => is_text = false,
                "v" | "text" if is_text => {
                    is_text = false;
                    flow.end_line();
                }
                "p" => flow.end_line(),
                "sp" => flow.end_paragraph(),
                "tc" => flow.end_cell(),
                "tr" => flow.end_row(),
                "tbl" => flow.end_table(),
                _ => {}
            },
            Node::Text(text) if is_text && skipped == 0 => flow.text(text),
            Node::Text(_) => {}
        }
        !flow.is_full()
    });
    if let Err(fault) = read {
        flow.note(format!("A slide breaks off: {fault}."));
    }
    flow.finish();
}
