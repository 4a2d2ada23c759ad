//! Tests of wheels, in an environment of their own with NumPy and pytest, outside the repository.

use super::{musl_python, python_package};
use crate::command::{self, command, output, root};
use crate::debian::Debian;
use crate::files::copy;
use crate::python;
use crate::workspace::package_named;
use clap::ValueEnum;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Options of the tests.
#[derive(clap::Args)]
#[group(id = "wheel-tests")]
pub(crate) struct Options {
    /// Where the wheel is tested.
    #[arg(long, default_value = "host")]
    system: System,
    /// Interpreter of this machine that the wheel is tested with.
    #[arg(long, default_value = "python3")]
    python: String,
    /// Version of NumPy that the wheel is tested with; default: the newest.
    #[arg(long)]
    numpy: Option<String>,
}

/// Where a wheel is tested.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum System {
    /// This machine.
    Host,
    /// Debian testing, which has the newest Python; requires root.
    Debian,
    /// The wheel for musl, with a Python that is compiled for musl in Debian testing; requires root.
    Musl,
}

/// Tests that need NumPy only.
const TESTS: [&str; 12] = [
    "test_broadcast",
    "test_command",
    "test_datetime",
    "test_errors",
    "test_evaluate",
    "test_lazy",
    "test_memmap",
    "test_reductions",
    "test_small_arrays",
    "test_sum_to_and_explain",
    "test_threads",
    "test_ufuncs",
];

/// Installs the wheel and runs tests.
pub(crate) fn run(folder: &Path, debian: &Path, options: &Options) -> Result<(), String> {
    let environment = folder.join("test-environment");
    let _ = fs::remove_dir_all(&environment);
    let numpy = options.numpy.as_ref().map_or("numpy".to_owned(), |version| format!("numpy=={version}"));
    let mut requirements = vec![numpy, "pytest>=8,<10".into()];
    let debian = || Debian::set_up(debian.to_owned());
    let python = match options.system {
        System::Musl => {
            let wheel = python_package::musl_wheel_name(&package_named("unishape")?.version);
            requirements.push(folder.join(wheel).display().to_string());
            Python::for_musl(debian()?, &environment, &requirements)?
        }
        system => {
            // Has no wheel for musl.
            requirements.push("ml_dtypes>=0.5,<1".into());
            requirements.push(python_package::only_wheel(folder)?.display().to_string());
            let base = match system {
                System::Debian => {
                    let debian = debian()?;
                    debian.install(&[], &["ca-certificates", "python3", "python3-venv"])?;
                    Python { program: "python3".into(), debian: Some(debian), packages: None }
                }
                _ => Python { program: options.python.clone().into(), debian: None, packages: None },
            };
            base.with_environment(&environment, &requirements)?
        }
    };
    let versions =
        "import sys, numpy, unishape; print(sys.version.split()[0], numpy.__version__, unishape.__file__)";
    print!("{}", output("versions", python.command(folder, &["-c", versions]))?);
    // Copies: the sources of the package must not be found beside the tests.
    let tests = folder.join("tests");
    let _ = fs::remove_dir_all(&tests);
    let sources = fs::read_dir(root().join("python/tests")).map_err(|error| error.to_string())?;
    for file in sources.flatten().filter(|file| file.path().is_file()) {
        copy(&file.path(), &tests.join(file.file_name())).map_err(|error| error.to_string())?;
    }
    let mut pytest =
        python.command(&tests, &["-m", "pytest", "--quiet", "--disable-warnings", "-p", "no:cacheprovider"]);
    pytest.args(TESTS.map(|name| format!("{name}.py")));
    command::run("tests of the wheel", pytest)
}

/// An interpreter of this machine or of a Debian system.
struct Python {
    program: PathBuf,
    debian: Option<Debian>,
    /// A folder of packages, if they are not in an environment.
    packages: Option<PathBuf>,
}

impl Python {
    /// The interpreter of a new virtual environment in which packages are installed.
    fn with_environment(self, environment: &Path, packages: &[String]) -> Result<Self, String> {
        let mut create = self.command(&root(), &["-m", "venv"]);
        create.arg(environment);
        command::run(&format!("an environment of {}", self.program.display()), create)?;
        let python = Python { program: python::interpreter(environment), ..self };
        let mut install =
            python.command(&root(), &["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        install.args(packages);
        command::run("the wheel, installed", install)?;
        Ok(python)
    }

    /// An interpreter for musl. It lacks what pip needs, so this machine's pip installs packages into a folder.
    fn for_musl(debian: Debian, folder: &Path, packages: &[String]) -> Result<Self, String> {
        let program = musl_python::set_up(&debian)?;
        let mut install = python::pip_install(Path::new("python3"));
        install.args([
            "--root-user-action=ignore",
            "--only-binary=:all:",
            "--platform=musllinux_1_2_x86_64",
            "--implementation=cp",
        ]);
        install.args(["--python-version", musl_python::VERSION, "--target"]).arg(folder).args(packages);
        command::run("the wheel for musl, installed", install)?;
        Ok(Python { program, debian: Some(debian), packages: Some(folder.to_owned()) })
    }

    /// A program in Python that runs in a folder.
    fn command(&self, folder: &Path, args: &[&str]) -> Command {
        let Some(debian) = &self.debian else {
            let mut command = command(&self.program, args);
            command.current_dir(folder);
            return command;
        };
        let mut command = debian.command("env", &[]);
        command.arg(format!("--chdir={}", folder.display()));
        if let Some(packages) = &self.packages {
            command.arg(format!("PYTHONPATH={}", packages.display()));
        }
        command.arg(&self.program).args(args);
        command
    }
}
