//! Lines, tables and colours: how a page is set.

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{Cell, ColumnConstraint, ContentArrangement, Table};

/// Stands for a blank at which no line is broken, until the page is done.
const TIE: char = '\u{a0}';

/// How a page looks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// Columns.
    pub(crate) width: u16,
    pub(crate) color: bool,
}

/// A page in the making.
pub(crate) struct Sheet {
    text: String,
    style: Style,
}

#[derive(Clone, Copy)]
pub(crate) enum Paint {
    Bold,
    Red,
    Yellow,
    Green,
    Dim,
}

impl Sheet {
    pub(crate) fn new(style: Style) -> Self {
        Self { text: String::new(), style }
    }

    pub(crate) fn finish(mut self) -> String {
        self.text.truncate(self.text.trim_end().len());
        self.text.push('\n');
        self.text
    }

    fn paint(&self, text: &str, paint: Paint) -> String {
        let code = match paint {
            Paint::Bold => "1",
            Paint::Red => "1;31",
            Paint::Yellow => "33",
            Paint::Green => "32",
            Paint::Dim => "2",
        };
        if self.style.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    pub(crate) fn line(&mut self, line: &str) {
        self.text.push_str(&line.replace(TIE, " "));
        self.text.push('\n');
    }

    pub(crate) fn paragraph(&mut self, text: &str) {
        self.painted(text, None);
    }

    pub(crate) fn painted(&mut self, text: &str, paint: Option<Paint>) {
        for line in wrap(&tied(text), usize::from(self.style.width)) {
            let line = paint.map_or_else(|| line.clone(), |paint| self.paint(&line, paint));
            self.line(&line);
        }
    }

    /// A label and a text that is wrapped beside it.
    pub(crate) fn entry(&mut self, label: &str, text: &str, paint: Option<Paint>) {
        const LABEL: usize = 15;
        let room = usize::from(self.style.width).saturating_sub(LABEL + 2).max(30);
        let mut label = format!("  {label:LABEL$}");
        for line in wrap(&tied(text), room) {
            let line = paint.map_or_else(|| line.clone(), |paint| self.paint(&line, paint));
            self.line(&format!("{label}{line}"));
            label = " ".repeat(LABEL + 2);
        }
    }

    pub(crate) fn table(&mut self, header: &[&str], rows: Vec<Vec<Cell>>) {
        let mut table = Table::new();
        table.load_style(UTF8_FULL_CONDENSED);
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(self.style.width);
        table.set_header(header.to_vec());
        table.add_rows(rows);
        // Names are not broken unless they leave no room.
        let longest = table.column_max_content_widths().first().copied().unwrap_or_default();
        if longest < self.style.width / 2
            && let Some(column) = table.column_mut(0)
        {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
        for line in table.to_string().lines() {
            self.line(line.trim_end());
        }
    }
}

/// At most so many characters.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Keeps a time of day in one line.
pub(crate) fn tied(text: &str) -> String {
    text.replace(" UTC", "\u{a0}UTC")
}

/// Lines of at most `room` characters, broken between words where possible.
fn wrap(text: &str, room: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut length = 0;
    for word in text.split(' ') {
        let size = word.chars().count();
        if length > 0 && length + 1 + size > room {
            lines.push(core::mem::take(&mut line));
            length = 0;
        }
        if length > 0 {
            line.push(' ');
            length += 1;
        }
        line.push_str(word);
        length += size;
    }
    lines.push(line);
    lines
}
