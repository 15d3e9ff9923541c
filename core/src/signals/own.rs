//! Dialects of the caller's own, from the `dialects` option: header names,
//! body paths and refusals that no documentation of ours knows, and which of
//! the built-in ones are read.
//!
//! ```json
//! [{"name": "acme",
//!   "headers": {"X-Acme-Left": {"field": "remaining", "meter": "reads", "unit": "requests", "window": 60},
//!               "X-Acme-Again": {"field": "wait", "format": "milliseconds"}},
//!   "body": {"error.cooldown": "wait"},
//!   "refusals": [509, {"status": 200, "path": "error.code", "equals": "BUSY", "class": "capacity"}]}]
//! ```

use serde_json::{Map, Value};

use super::body::Said;
use super::dialects::{self, Form, ROWS, Row};
use super::fields::Fields;
use super::grammar::{LONGEST_NAME, What};
use super::values::{self, Scale};
use crate::config::ConfigError;
use crate::refusal::Class;

/// The most of anything that one definition lists.
const MOST: usize = 256;

/// Figures by the names that definitions use.
const FIELDS: [(&str, What); 8] = [
    ("limit", What::Limit),
    ("remaining", What::Remaining),
    ("used", What::Used),
    ("reset", What::Reset),
    ("window", What::Window),
    ("wait", What::Wait),
    ("name", What::Label),
    ("reason", What::Reason),
];

/// Units of times.
const SCALES: [(&str, Scale); 4] = [
    ("auto", Scale::Open),
    ("seconds", Scale::Seconds),
    ("milliseconds", Scale::Milliseconds),
    ("minutes", Scale::Minutes),
];

/// Forms that tell whole meters, so that no field is named beside them.
const FORMS: [(&str, Form); 8] = [
    ("per_second", Form::PerSecond),
    ("name=used/limit", Form::NamedUsedOfLimit),
    ("limit:window", Form::LimitPerWindow),
    ("used:window", Form::UsedPerWindow),
    ("name;count", Form::NamedCounts),
    ("key=value", Form::Quotas),
    ("percent_used", Form::PercentUsed),
    ("ignored", Form::Silent),
];

/// What the `dialects` option says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Own {
    /// The built-in dialects that are read, where the option names some.
    only: Option<Vec<&'static str>>,
    headers: Vec<Entry>,
    paths: Vec<Entry>,
    rules: Vec<Rule>,
}

/// A header or a body path, and how it is read.
#[derive(Clone, Debug)]
struct Entry {
    /// In lower case for a header.
    place: String,
    form: Form,
    meter: String,
    unit: Option<String>,
    window: Option<u32>,
}

/// What makes a response a refusal.
#[derive(Clone, Debug)]
struct Rule {
    status: Option<u16>,
    path: Option<String>,
    equals: Option<Value>,
    class: Class,
}

impl Entry {
    fn row(&self) -> Row<'_> {
        Row {
            dialect: "",
            header: &self.place,
            form: self.form,
            meter: &self.meter,
            unit: self.unit.as_deref(),
            window: self.window,
            source: "the caller",
        }
    }
}

impl Own {
    /// Whether a header of that name, in any case, is one of them.
    pub(super) fn reads(&self, name: &[u8]) -> bool {
        !self.headers.is_empty() && self.headers.iter().any(|entry| name.eq_ignore_ascii_case(entry.place.as_bytes()))
    }

    /// The row of a header in lower case: the caller's own before ours.
    pub(super) fn lookup(&self, header: &str) -> Option<Row<'_>> {
        if let Some(entry) = self.headers.iter().find(|entry| entry.place == header) {
            return Some(entry.row());
        }
        let row = dialects::lookup(header)?;
        self.only.as_ref().is_none_or(|only| only.contains(&row.dialect)).then_some(*row)
    }

    /// Whether only a body can tell what a response of that status is.
    pub(super) fn wants_body(&self, status: u16) -> bool {
        let asks = |rule: &Rule| rule.path.is_some() && rule.status.is_none_or(|own| own == status);
        let refuses = |rule: &Rule| rule.status == Some(status);
        self.rules.iter().any(asks) || (!self.paths.is_empty() && self.rules.iter().any(refuses))
    }

    /// The class that a rule gives a response.
    pub(super) fn class(&self, status: u16, body: Option<&Value>) -> Option<Class> {
        let holds = |rule: &&Rule| {
            rule.status.is_none_or(|own| own == status)
                && rule.path.as_ref().is_none_or(|path| {
                    let found = body.and_then(|body| at(body, path));
                    found.is_some_and(|found| match &rule.equals {
                        Some(wanted) => found == wanted,
                        None => !matches!(found, Value::Null | Value::Bool(false)),
                    })
                })
        };
        self.rules.iter().find(holds).map(|rule| rule.class)
    }

    /// Reads the caller's own paths of a body.
    pub(super) fn read<'a>(&'a self, body: &Value, fields: &mut Fields<'a>, said: &mut Said) {
        for entry in &self.paths {
            let Some(value) = at(body, &entry.place) else { continue };
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                _ => continue,
            };
            match entry.form {
                Form::Figure(What::Wait, scale) => {
                    let scale = if scale == Scale::Open { Scale::Seconds } else { scale };
                    match values::moment(text.as_bytes(), scale) {
                        Ok(wait) => said.wait = Some(wait),
                        Err(why) => fields.ignore(&entry.place, why),
                    }
                }
                _ => fields.take_own(&entry.place, text.as_bytes(), entry.row()),
            }
        }
    }

    /// Reads the option.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] that names the place of the mistake.
    pub(crate) fn from_option(option: &Value) -> Result<Self, ConfigError> {
        let mut own = Self::default();
        let entries = match option {
            Value::Null => return Ok(own),
            Value::String(all) if all == "all" => return Ok(own),
            Value::Array(entries) => entries,
            other => return Err(wrong("dialects", r#""all", or a list of names and definitions"#, other)),
        };
        for (at, entry) in entries.iter().enumerate() {
            let place = format!("dialects[{at}]");
            match entry {
                Value::String(name) if name == "all" => {}
                Value::String(name) => {
                    let known = ROWS.iter().map(|row| row.dialect).find(|known| known == name);
                    own.only.get_or_insert_default().push(known.ok_or_else(|| unknown(&place, name))?);
                }
                Value::Object(definition) => own.define(&place, definition)?,
                other => return Err(wrong(&place, "a name or a definition", other)),
            }
        }
        if entries.iter().any(|entry| entry == "all") {
            own.only = None;
        }
        Ok(own)
    }

    fn define(&mut self, place: &str, definition: &Map<String, Value>) -> Result<(), ConfigError> {
        for (member, value) in definition {
            let place = format!("{place}.{member}");
            match member.as_str() {
                "name" => drop(text(&place, value)?),
                "headers" => {
                    for (header, value) in map(&place, value)? {
                        let place = format!("{place}.{header}");
                        if header.is_empty() || header.len() > LONGEST_NAME || !header.bytes().all(is_token) {
                            return Err(ConfigError::new(
                                place,
                                format!("is no header name of at most {LONGEST_NAME} letters"),
                            ));
                        }
                        let header = header.to_ascii_lowercase().replace('_', "-");
                        self.headers.push(entry(&place, header, value)?);
                    }
                }
                "body" => {
                    for (path, value) in map(&place, value)? {
                        let place = format!("{place}.{path}");
                        self.paths.push(entry(&place, checked_path(&place, path)?, value)?);
                    }
                }
                "refusals" => {
                    let Value::Array(rules) = value else {
                        return Err(wrong(&place, "a list of statuses and rules", value));
                    };
                    for (at, value) in rules.iter().enumerate() {
                        self.rules.push(rule(&format!("{place}[{at}]"), value)?);
                    }
                }
                _ => return Err(ConfigError::new(place, "is unknown; known are name, headers, body, refusals")),
            }
        }
        if self.headers.len() > MOST || self.paths.len() > MOST || self.rules.len() > MOST {
            return Err(ConfigError::new(place, format!("must list at most {MOST} headers, paths or rules")));
        }
        Ok(())
    }
}

/// The value at a path of member names and indices, joined by dots.
fn at<'a>(body: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(body, |value, step| match value {
        Value::Object(members) => members.get(step),
        Value::Array(entries) => entries.get(step.parse::<usize>().ok()?),
        _ => None,
    })
}

fn entry(place: &str, key: String, value: &Value) -> Result<Entry, ConfigError> {
    let mut entry = Entry { place: key, form: Form::Silent, meter: String::new(), unit: None, window: None };
    let (mut field, mut scale, mut form) = (None, None, None);
    match value {
        Value::String(_) => field = Some(choice(place, value, &FIELDS)?),
        Value::Object(members) => {
            for (member, value) in members {
                let place = format!("{place}.{member}");
                match member.as_str() {
                    "field" => field = Some(choice(&place, value, &FIELDS)?),
                    "format" => {
                        let name = text(&place, value)?;
                        scale = find(name, &SCALES);
                        form = find(name, &FORMS);
                        if scale.is_none() && form.is_none() {
                            let known = names(&SCALES).chain(names(&FORMS)).collect::<Vec<_>>().join(", ");
                            return Err(wrong(&place, &format!("one of {known}"), value));
                        }
                    }
                    "meter" => text(&place, value)?.clone_into(&mut entry.meter),
                    "unit" => entry.unit = Some(text(&place, value)?.to_owned()),
                    "window" => {
                        let seconds =
                            value.as_f64().filter(|seconds| (1.0..=4e9).contains(seconds) && seconds.fract() == 0.0);
                        entry.window =
                            Some(seconds.ok_or_else(|| wrong(&place, "whole seconds from 1", value))? as u32);
                    }
                    _ => {
                        return Err(ConfigError::new(
                            place,
                            "is unknown; known are field, format, meter, unit, window",
                        ));
                    }
                }
            }
        }
        other => return Err(wrong(place, "a field's name or a mapping {field, format, meter, unit, window}", other)),
    }
    entry.form = match (field, form) {
        (Some(_), Some(_)) => {
            return Err(ConfigError::new(place, "must not have a field beside a format that tells whole meters"));
        }
        (Some(what), None) => {
            let times = matches!(what, What::Reset | What::Window | What::Wait);
            if scale.is_some() && !times {
                return Err(ConfigError::new(format!("{place}.format"), "is for reset, window and wait only"));
            }
            Form::Figure(what, scale.unwrap_or_default())
        }
        (None, Some(form)) => form,
        (None, None) => {
            let known = names(&FIELDS).collect::<Vec<_>>().join(", ");
            return Err(ConfigError::new(format!("{place}.field"), format!("is missing; it takes one of {known}")));
        }
    };
    Ok(entry)
}

fn rule(place: &str, value: &Value) -> Result<Rule, ConfigError> {
    let status = |place: &str, value: &Value| {
        let status = value.as_f64().filter(|status| (100.0..=999.0).contains(status) && status.fract() == 0.0);
        status.map(|status| status as u16).ok_or_else(|| wrong(place, "a status from 100 to 999", value))
    };
    let mut rule = Rule { status: None, path: None, equals: None, class: Class::Windowed };
    let Value::Object(members) = value else {
        rule.status = Some(status(place, value)?);
        return Ok(rule);
    };
    for (member, value) in members {
        let place = format!("{place}.{member}");
        match member.as_str() {
            "status" => rule.status = Some(status(&place, value)?),
            "path" => rule.path = Some(checked_path(&place, text(&place, value)?)?),
            "equals" => rule.equals = Some(value.clone()),
            "class" => rule.class = choice(&place, value, &Class::ALL)?,
            _ => return Err(ConfigError::new(place, "is unknown; known are status, path, equals, class")),
        }
    }
    if rule.status.is_none() && rule.path.is_none() {
        return Err(ConfigError::new(place, "must have a status or a path"));
    }
    if rule.equals.is_some() && rule.path.is_none() {
        return Err(ConfigError::new(format!("{place}.equals"), "needs a path beside it"));
    }
    Ok(rule)
}

fn checked_path(place: &str, path: &str) -> Result<String, ConfigError> {
    if path.len() > 256 || path.split('.').any(str::is_empty) {
        return Err(ConfigError::new(place, "must be member names and indices joined by dots"));
    }
    Ok(path.to_owned())
}

/// Letters of a field name (RFC 9110 section 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn names<'a, T>(choices: &'a [(&'a str, T)]) -> impl Iterator<Item = &'a str> {
    choices.iter().map(|(name, _)| *name)
}

fn find<T: Copy>(name: &str, choices: &[(&str, T)]) -> Option<T> {
    choices.iter().find(|(known, _)| *known == name).map(|(_, choice)| *choice)
}

fn choice<T: Copy>(place: &str, value: &Value, choices: &[(&str, T)]) -> Result<T, ConfigError> {
    let known = || format!("one of {}", names(choices).collect::<Vec<_>>().join(", "));
    value.as_str().and_then(|name| find(name, choices)).ok_or_else(|| wrong(place, &known(), value))
}

fn text<'a>(place: &str, value: &'a Value) -> Result<&'a str, ConfigError> {
    let text = value.as_str().filter(|text| (1..=128).contains(&text.len()));
    text.ok_or_else(|| wrong(place, "a text of 1 to 128 bytes", value))
}

fn map<'a>(place: &str, value: &'a Value) -> Result<&'a Map<String, Value>, ConfigError> {
    value.as_object().ok_or_else(|| wrong(place, "a mapping", value))
}

fn wrong(place: &str, takes: &str, value: &Value) -> ConfigError {
    ConfigError::new(place, format!("must be {takes}, not {value}"))
}

fn unknown(place: &str, name: &str) -> ConfigError {
    let mut known: Vec<_> = ROWS.iter().map(|row| row.dialect).collect();
    known.sort_unstable();
    known.dedup();
    let known = known.join(", ");
    ConfigError::new(place, format!("({name}) is no dialect of the table; known are all, {known}; others need no name"))
}
