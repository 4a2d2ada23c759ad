//! A Python for musl, in a Debian system: it is compiled from Debian's sources, since no index has one.

use crate::command::{self, succeeds};
use crate::debian::Debian;
use std::path::PathBuf;

/// A version in Debian testing. Any does, because the wheel uses the stable interface only.
pub(crate) const VERSION: &str = "3.13";

/// Where it is installed in the Debian system.
const FOLDER: &str = "/opt/musl-python";

/// Compiles it, with zlib, which NumPy needs, in a folder that is removed. Modules whose libraries are not compiled for
/// musl are left out, such as ctypes.
const BUILD: &str = r#"
set -e
sed 's/^deb /deb-src /' /etc/apt/sources.list > /etc/apt/sources.list.d/sources.list
apt-get update --quiet
rm -rf "$1-source"
mkdir --parents "$1-source/python" "$1-source/zlib"
cd "$1-source"
apt-get source --quiet --download-only "python$2" zlib
cd zlib
tar --extract --strip-components=1 --file ../zlib_*.orig.tar.*z
CC=musl-gcc CFLAGS='-O1 -fPIC' ./configure --static --prefix="$1"
make --silent install
cd ../python
tar --extract --strip-components=1 --file "../python$2"_*.orig.tar.*z
# The compiler names the C library of the system that it is made for.
sed --in-place 's/MULTIARCH=$($CC --print-multiarch.*)/MULTIARCH=/' configure
./configure --quiet --prefix="$1" CC=musl-gcc OPT='-O1 -DNDEBUG' CPPFLAGS="-I$1/include" LDFLAGS="-L$1/lib" \
  PKG_CONFIG=false --without-ensurepip --disable-test-modules
make --silent -j"$(nproc)"
make --silent install > /dev/null
rm -r "$1-source"
"#;

/// Compiles Python in the system unless that is done; it takes some minutes. Returns the interpreter.
pub(crate) fn set_up(debian: &Debian) -> Result<PathBuf, String> {
    let python = format!("{FOLDER}/bin/python3");
    if !succeeds(debian.command(&python, &["--version"])) {
        debian.install(&[], &["gcc", "libc6-dev", "make", "musl-tools", "xz-utils"])?;
        let build = debian.command("sh", &["-c", BUILD, "sh", FOLDER, VERSION]);
        command::run(&format!("Python {VERSION} for musl"), build)?;
    }
    Ok(python.into())
}
