//! Writes the shared vectors as inputs for the fuzzer to begin with:
//! `seeds VECTORS FOLDER`.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use rampmeter_fuzz::seeds::Seeds;

fn main() -> io::Result<()> {
    let paths: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    let [vectors, folder] = paths.as_slice() else {
        return Err(io::Error::other("two arguments are needed: the folder of vectors, and where to write"));
    };
    let Seeds { signals, engine } = Seeds::read(vectors)?;
    write(&folder.join("signals"), &signals)?;
    write(&folder.join("engine"), &engine)
}

fn write(folder: &Path, inputs: &[Vec<u8>]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    inputs.iter().enumerate().try_for_each(|(at, input)| fs::write(folder.join(at.to_string()), input))
}
