//! Prints the options table of README and docs.

fn main() {
    print!("{}", rampmeter::options_markdown());
}
