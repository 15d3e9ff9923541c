//! What the lab's pages and pictures have in common: colours, axes, styles.

pub mod charts;

use minijinja::{Environment, Value, context};
use plotters::style::RGBColor;

/// The style sheet of all pages.
const STYLE: &str = include_str!("style.css");

/// The colours of the pictures, by name, with those that take their place on a
/// dark ground.
const PALETTE: [(&str, RGBColor, &str); 8] = [
    ("admitted", charts::ADMITTED, "#2dd4bf"),
    ("refused", charts::REFUSED, "#fb7185"),
    ("waiting", charts::WAITING, "#a5b4fc"),
    ("rampmeter", charts::RAMPMETER, "#60a5fa"),
    ("per-request", charts::PER_REQUEST, "#fbbf24"),
    ("optimal", charts::OPTIMAL, "#9ca3af"),
    ("text", charts::TEXT, "#c9d1d9"),
    ("grid", charts::GRID, "#30363d"),
];

/// The colours for templates: `name`, `light`, `dark`.
fn palette() -> Vec<Value> {
    let colour = |(name, RGBColor(red, green, blue), dark)| {
        // In the very spelling of the pictures' attributes, by which the style
        // sheet selects them.
        context! { name, light => format!("#{red:02X}{green:02X}{blue:02X}"), dark }
    };
    PALETTE.map(colour).to_vec()
}

/// Renders a page whose template includes `style.css`.
///
/// # Errors
///
/// If the template is wrong.
pub fn render(template: &str, content: Value) -> Result<String, minijinja::Error> {
    let mut environment = Environment::new();
    environment.add_template("style.css", STYLE)?;
    environment.add_template("page.html", template)?;
    environment.get_template("page.html")?.render(context! { palette => palette(), ..content })
}

/// The same picture as a file of its own, readable on light and on dark
/// ground.
#[must_use]
pub fn standalone(svg: &str) -> String {
    let rule = |(_, RGBColor(red, green, blue), dark): &(&str, RGBColor, &str)| {
        let light = format!("#{red:02X}{green:02X}{blue:02X}");
        format!(r#"[fill="{light}"]{{fill:{dark}}}[stroke="{light}"]{{stroke:{dark}}}"#)
    };
    let rules: String = PALETTE.iter().map(rule).collect();
    let style = format!("<style>@media (prefers-color-scheme: dark){{{rules}}}</style>");
    match svg.split_once('>') {
        Some((open, rest)) => format!("{open}>{style}{rest}"),
        None => svg.to_owned(),
    }
}
