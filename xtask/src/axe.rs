//! axe-core, which finds what keeps people from using a page: from npm, once, and only the file that is known.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bundle::sha256;
use crate::shell::{self, Outcome, on_path, say};

const VERSION: &str = "4.14.1";

/// The hash of its `axe.min.js`.
const SHA256: &str = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c";

/// Finds the file, and gets it where it is not there yet.
pub fn make_sure() -> Outcome<PathBuf> {
    let folder = shell::root().join("target/tools").join(format!("axe-core-{VERSION}"));
    let file = folder.join("package/axe.min.js");
    if is_it(&file) {
        return Ok(file);
    }
    let how = "it comes from npm, so install Node.js and see to it that npm reaches its registry";
    let npm = on_path("npm").into_iter().next().ok_or(format!("there is no axe-core: {how}."))?;
    say(&format!("Getting axe-core {VERSION} from npm (about 0.6 MB)"));
    fs::create_dir_all(&folder).map_err(|error| format!("{} cannot be written: {error}.", folder.display()))?;
    let mut pack = Command::new(npm);
    pack.current_dir(&folder).args(["pack", "--silent", &format!("axe-core@{VERSION}")]);
    shell::run(&mut pack, "npm pack").map_err(|sentence| format!("{sentence} There is no axe-core: {how}."))?;
    let archive = format!("axe-core-{VERSION}.tgz");
    let mut unpack = Command::new("tar");
    unpack.current_dir(&folder).args(["-xzf", &archive, "package/axe.min.js"]);
    shell::run(&mut unpack, "unpacking axe-core")?;
    if is_it(&file) {
        Ok(file)
    } else {
        Err(format!("{} is not the axe-core that is known: remove it.", file.display()))
    }
}

fn is_it(file: &Path) -> bool {
    fs::read(file).is_ok_and(|bytes| sha256(&bytes) == SHA256)
}
