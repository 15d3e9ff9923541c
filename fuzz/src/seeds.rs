//! The shared cases of `tests/vectors` as inputs, for a search to begin with.

use core::fmt::Write;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde_json::Value;

/// The inputs for each target, from the text of one file of vectors.
#[derive(Debug, Default)]
pub struct Seeds {
    pub signals: Vec<Vec<u8>>,
    pub engine: Vec<Vec<u8>>,
}

/// The files of a folder and of the folders in it, in order.
///
/// # Errors
///
/// A folder cannot be listed.
pub fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

impl Seeds {
    /// The cases of all files of a folder.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or is no JSON.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let mut seeds = Self::default();
        for file in files(folder)? {
            seeds.add(&fs::read(file)?)?;
        }
        Ok(seeds)
    }

    /// Adds the cases of a file: one object, or a list of them.
    fn add(&mut self, file: &[u8]) -> Result<(), serde_json::Error> {
        let cases = match serde_json::from_slice(file)? {
            Value::Array(cases) => cases,
            case => vec![case],
        };
        for case in &cases {
            if case.get("steps").is_some() {
                self.engine.push(script(case).into_bytes());
            } else if case.get("status").is_some() {
                self.signals.push(response(case).into_bytes());
                self.engine.push(exchange(case).into_bytes());
            }
        }
        Ok(())
    }
}

/// A string as it is, anything else as JSON.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn fields<'a>(case: &'a Value) -> impl Iterator<Item = (String, String)> + 'a {
    let lines = case["headers"].as_array().into_iter().flatten();
    lines.map(|line| (text(&line[0]), text(&line[1]).replace('\n', " ")))
}

/// The wall clock at reception.
fn clock(case: &Value) -> String {
    case.get("received_wall").filter(|wall| wall.is_number()).map_or_else(|| "-".to_owned(), text)
}

fn response(case: &Value) -> String {
    let mut input = format!("{} {}\n", case["status"], clock(case));
    for (name, value) in fields(case) {
        let _ = writeln!(input, "{name}: {value}");
    }
    if !case["body"].is_null() {
        let _ = write!(input, "\n{}", text(&case["body"]));
    }
    input
}

/// Field lines and body of an answer within a script.
fn answer(case: &Value) -> String {
    let mut lines = String::new();
    for (name, value) in fields(case) {
        let _ = writeln!(lines, " {name}: {value}");
    }
    if !case["body"].is_null() {
        text(&case["body"]).split('\n').for_each(|line| {
            let _ = writeln!(lines, "={line}");
        });
    }
    lines
}

/// One call that gets that response, with others behind it.
fn exchange(case: &Value) -> String {
    let answer = answer(case);
    format!(
        "w{}\nbGET https://api.example.com/v1/x\nm3\np0\na0 {}\n{answer}t1\nP\nA200\nt30\nP\n",
        clock(case),
        case["status"]
    )
}

fn script(case: &Value) -> String {
    let mut input = String::new();
    if let Some(config) = case.get("config").filter(|config| !config.is_null()) {
        let _ = writeln!(input, "o{config}");
    }
    if case["wall"].is_number() {
        let _ = writeln!(input, "w{}", case["wall"]);
    }
    let steps: Vec<&Value> = case["steps"].as_array().into_iter().flatten().collect();
    let reads = steps.iter().any(|step| step.get("finish").is_some());
    let mut names: Vec<&str> = Vec::new();
    let mut now = 0.0;
    for step in steps {
        let at = step["at"].as_f64().unwrap_or(now);
        if at > now {
            let _ = writeln!(input, "t{}", ((at - now) * 1e9).round() / 1e9);
            now = at;
        }
        if step["wall"].is_number() {
            let _ = writeln!(input, "w{}", step["wall"]);
        }
        let number = |key: &str| names.iter().position(|name| Some(*name) == step[key].as_str()).unwrap_or(0);
        if let Some(name) = step["begin"].as_str() {
            names.push(name);
            let _ = writeln!(input, "b{}", request(step));
        } else if step.get("poll").is_some() {
            let _ = writeln!(input, "p{}", number("poll"));
        } else if step.get("response").is_some() {
            let at = number("response");
            let cached = if step["cached"] == true { " cached" } else { "" };
            let _ = write!(input, "a{at} {}{cached}\n{}", step["status"], answer(step));
            if !reads {
                let _ = writeln!(input, "e{at}");
            }
        } else if step.get("failure").is_some() {
            let kind = rampmeter::FailureKind::ALL.iter().position(|(name, _)| step["kind"] == *name);
            let _ = writeln!(input, "f{} {}", number("failure"), kind.unwrap_or(0));
        } else if step.get("finish").is_some() {
            let _ = writeln!(input, "e{}", number("finish"));
        } else if step.get("cancel").is_some() {
            let _ = writeln!(input, "x{}", number("cancel"));
        } else if step.get("settle").is_some() {
            let _ = writeln!(input, "s{}{}", number("settle"), cost(step));
        } else if step.get("close").is_some() {
            input.push_str("c\n");
        }
    }
    input
}

fn cost(step: &Value) -> String {
    let amounts = step["cost"].as_object().into_iter().flatten();
    amounts.fold(String::new(), |mut words, (unit, amount)| {
        let _ = write!(words, " {unit}={amount}");
        words
    })
}

fn request(step: &Value) -> String {
    let or = |key: &str, default: &str| step.get(key).map_or_else(|| default.to_owned(), text);
    let mut words = format!("{} {}", or("method", "GET"), or("url", ""));
    for key in ["scope", "route", "priority", "deadline"] {
        if let Some(value) = step.get(key).filter(|value| !value.is_null()) {
            let _ = write!(words, " {key}={}", text(value).replace(' ', "_"));
        }
    }
    if let Some(retry) = step["retry"].as_bool() {
        let _ = write!(words, " retry={}", u8::from(retry));
    }
    words + &cost(step).replace(" requests=", " cost=")
}
