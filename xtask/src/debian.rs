//! A Debian testing system in a folder: it has Rust's standard library for other CPUs, cross linkers and QEMU.
//!
//! Commands run in it by `chroot`, in a mount namespace of their own: the repository and the downloaded crates are
//! mounted at their own paths while a command runs, and are not visible to a process that deletes the folder.

use crate::command::{self, command, root, succeeds};
use crate::install::apt_install;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Runs a command in the system: arguments are the folder, the repository, cargo's folder, and then the command, after
/// its variables.
const ENTER: &str = r#"
set -e
folder=$1 root=$2 cargo=$3
shift 3
mkdir -p "$folder$root" "$folder/root/.cargo" "$cargo"
mount -t proc proc "$folder/proc"
mount --rbind /dev "$folder/dev"
mount --bind "$root" "$folder$root"
mount --bind "$cargo" "$folder/root/.cargo"
cp -L /etc/resolv.conf "$folder/etc/resolv.conf"
# Where the host trusts more than Debian does, for example a proxy.
certificates=/etc/ssl/certs/ca-certificates.crt
if [ -e "$certificates" ] && [ -e "$folder$certificates" ]; then mount --bind "$certificates" "$folder$certificates"; fi
exec chroot "$folder" env --ignore-environment --chdir="$root" HOME=/root CARGO_HOME=/root/.cargo LC_ALL=C.UTF-8 \
  PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"
"#;

/// Settings of apt and dpkg: no recommended packages, no manuals, no waiting for the disk. A mirror may lag behind.
const SETTINGS: [(&str, &str); 2] = [
    (
        "etc/apt/apt.conf.d/50unishape",
        "APT::Install-Recommends \"false\";\nAcquire::Check-Valid-Until \"false\";\n\
         Dpkg::Options { \"--force-unsafe-io\"; };\n",
    ),
    ("etc/dpkg/dpkg.cfg.d/unishape", "path-exclude=/usr/share/doc/*\npath-exclude=/usr/share/man/*\n"),
];

/// A Debian testing system.
pub(crate) struct Debian {
    folder: PathBuf,
}

impl Debian {
    /// Installs the system into a folder unless it is installed; needs root privileges and about 300 MB.
    pub(crate) fn set_up(folder: PathBuf) -> Result<Debian, String> {
        let debian = Debian { folder };
        if debian.folder.join("etc/dpkg/dpkg.cfg.d/unishape").exists() {
            return Ok(debian);
        }
        if !succeeds(command("debootstrap", &["--version"])) && !apt_install(&["debootstrap"]) {
            return Err("no debootstrap: install it, and run this as root on Linux".into());
        }
        let mut install = command("debootstrap", &["--variant=minbase", "testing"]);
        install.arg(&debian.folder);
        command::run(&format!("Debian testing in {}", debian.folder.display()), install)?;
        for (file, text) in SETTINGS {
            let file = debian.folder.join(file);
            fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
        }
        Ok(debian)
    }

    /// Installs packages, also of other architectures (`name:arm64`), unless they are installed.
    pub(crate) fn install(&self, architectures: &[&str], packages: &[&str]) -> Result<(), String> {
        let mut installed = self.command("dpkg-query", &["--show", "--showformat", "${db:Status-Abbrev}\n"]);
        installed.args(packages);
        if installed.output().is_ok_and(|output| {
            let states = String::from_utf8_lossy(&output.stdout).into_owned();
            output.status.success() && states.lines().all(|state| state.starts_with("ii"))
        }) {
            return Ok(());
        }
        for architecture in architectures {
            let add = self.command("dpkg", &["--add-architecture", architecture]);
            command::run(&format!("architecture {architecture}"), add)?;
        }
        command::run("package lists of Debian testing", self.command("apt-get", &["update", "--quiet"]))?;
        let mut install = self.command("apt-get", &["install", "--yes", "--quiet"]);
        install.args(packages);
        command::run(&format!("installing {}", packages.join(", ")), install)
    }

    /// A command that runs in the system, in the repository. Arguments such as `NAME=value` before the program are
    /// variables.
    pub(crate) fn command(&self, program: &str, args: &[&str]) -> Command {
        let root = root().canonicalize().unwrap_or_else(|_| root());
        let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_else(|| "/root".into()));
        let cargo = std::env::var_os("CARGO_HOME").map_or(home.join(".cargo"), PathBuf::from);
        let mut enter = command("unshare", &["--mount", "--propagation", "private", "sh", "-c", ENTER, "sh"]);
        enter.args([&self.folder, &root, &cargo]).arg(program).args(args);
        enter
    }
}
