//! The places as a person reads them, and as annotations of a change.

use core::fmt::Write as _;
use std::path::Path;

use comfy_table::Cell;

use super::{Place, Report};
use crate::audit::annotations::{message, property};
use crate::layout::{Paint, Sheet, Style};

pub(super) fn page(report: &Report, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    let (count, files) = (report.places.len(), report.files);
    let mut verdict = match count {
        0 => format!("{files} files, none of which sends 429"),
        1 => "1 place sends 429".to_owned(),
        _ => format!("{count} places send 429"),
    };
    match (report.new, report.unanswered) {
        (Some(0), _) => verdict.push_str(", all of them known"),
        (Some(new), _) => {
            let _ = write!(verdict, ", {new} of them new");
        }
        (None, 0) if count > 0 => verdict.push_str("; each says whether to come back, and when, as far as is shown"),
        (None, 0) => {}
        (None, unanswered) => {
            let _ = write!(verdict, "; {unanswered} not shown to say whether to come back, and when");
        }
    }
    let fails = report.new.unwrap_or(report.unanswered) > 0;
    sheet.painted(&verdict, Some(if fails { Paint::Red } else { Paint::Green }));
    let rows: Vec<_> = report.places.iter().map(row).collect();
    if !rows.is_empty() {
        sheet.table(&["place", "source", "what it answers, as far as is shown"], rows);
    }
    for note in &report.notes {
        sheet.paragraph(&format!("Note: {note}."));
    }
    sheet.finish()
}

fn row(place: &Place) -> Vec<Cell> {
    let Place { path, line, column, .. } = place;
    let within = place.within.as_deref().map(|name| format!("\n  in {name}")).unwrap_or_default();
    let new = if place.known == Some(false) { "new: " } else { "" };
    vec![
        Cell::new(format!("{path}:{line}:{column}{within}")),
        Cell::new(&place.source),
        Cell::new(format!("{new}{}", answer(place).replace('`', ""))),
    ]
}

fn answer(place: &Place) -> String {
    match (place.answers, &place.lacks) {
        (Some(class), _) => class.to_owned(),
        (None, Some(lacks)) => lacks.clone(),
        (None, None) => "nothing".to_owned(),
    }
}

pub(super) fn annotations(report: &Report, folder: &Path) -> String {
    let mut text = String::new();
    for place in &report.places {
        let (title, severity) = match (place.known, place.answers) {
            (Some(true), _) | (None, Some(_)) => continue,
            (Some(false), _) => ("a new place that sends 429", "error"),
            (None, None) => ("a 429 that does not answer", "error"),
        };
        let file = folder.join(&place.path).to_string_lossy().replace('\\', "/");
        let file = file.strip_prefix("./").unwrap_or(&file);
        let _ = writeln!(
            text,
            "::{severity} file={},line={},col={},title={}::{}",
            property(file),
            place.line,
            place.column,
            property(&format!("rampmeter audit: {title}")),
            message(&answer(place))
        );
    }
    text
}
