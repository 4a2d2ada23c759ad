//! A small client for the DevTools protocol, over a pair of pipes. Every wait has a limit.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Timeout of an answer.
const LIMIT: Duration = Duration::from_secs(60);

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    pipe: ChildStdin,
    messages: Receiver<Value>,
    /// Events since the last check.
    events: Vec<Value>,
    session: Option<String>,
    next: u64,
    /// Holds the profile and the page; removed with the browser.
    folder: TempDir,
}

/// The browser to use: `UNISHAPE_BROWSER`, or one that is on the path.
fn find() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("UNISHAPE_BROWSER") {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    ["chromium", "chromium-browser", "google-chrome"]
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|file| file.is_file())
}

impl Browser {
    /// Starts a browser; `None` if there is none, which is a failure in CI.
    pub(crate) fn start() -> Option<Browser> {
        let Some(program) = find() else {
            let missing = "no browser: set UNISHAPE_BROWSER or put chromium on the path";
            assert!(std::env::var_os("CI").is_none(), "{missing}");
            println!("skipped: {missing}");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        // The browser uses file descriptors 3 and 4; a shell redirects standard input and output to them.
        let mut child = Command::new("sh")
            .args(["-c", r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null"#])
            .arg(&program)
            .args([
                "--headless",
                "--remote-debugging-pipe",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
            ])
            .args(["--no-first-run", "--disable-background-networking", "--disable-component-update"])
            .args(["--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars"])
            .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let pipe = child.stdin.take().unwrap();
        let mut answers = BufReader::new(child.stdout.take().unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while answers.read_until(0, &mut message).is_ok_and(|length| length > 0) {
                message.pop();
                let Ok(value) = serde_json::from_slice(&message) else { break };
                if sender.send(value).is_err() {
                    break;
                }
                message.clear();
            }
        });
        let mut browser =
            Browser { child, pipe, messages, events: Vec::new(), session: None, next: 0, folder };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = browser.call("Target.attachToTarget", attach);
        browser.session = session["sessionId"].as_str().map(Into::into);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Calls a method; returns its result.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = serde_json::to_vec(&message).unwrap();
        bytes.push(0);
        self.pipe.write_all(&bytes).unwrap();
        let answer = self.wait(method, |message| message["id"] == id);
        assert!(answer.get("error").is_none(), "{method}: {}", answer["error"]);
        answer["result"].clone()
    }

    /// Waits for a message; earlier ones are kept as events.
    fn wait(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + LIMIT;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let message = match self.messages.recv_timeout(left) {
                Ok(message) => message,
                Err(error) => panic!("waiting for {what}: {error}"),
            };
            if is_it(&message) {
                return message;
            }
            self.events.push(message);
        }
    }

    /// Opens a page from a temporary file.
    pub(crate) fn open(&mut self, html: &str) {
        let file = self.folder.path().join("page.html");
        std::fs::write(&file, html).unwrap();
        self.navigate(&url(&file));
    }

    /// Opens a page.
    pub(crate) fn navigate(&mut self, url: &str) {
        self.events.clear();
        self.call("Page.navigate", json!({ "url": url }));
        let loaded = |message: &Value| message["method"] == "Page.loadEventFired";
        if !self.events.iter().any(loaded) {
            let event = self.wait("the page", loaded);
            self.events.push(event);
        }
    }

    /// Runs a script in the page; returns its value.
    pub(crate) fn evaluate(&mut self, script: &str) -> Value {
        let result = self.call(
            "Runtime.evaluate",
            json!({ "expression": script, "returnByValue": true, "awaitPromise": true }),
        );
        assert!(result.get("exceptionDetails").is_none(), "{script}: {}", result["exceptionDetails"]);
        result["result"]["value"].clone()
    }

    /// Moves the mouse.
    pub(crate) fn move_mouse(&mut self, x: f64, y: f64) {
        self.call("Input.dispatchMouseEvent", json!({ "type": "mouseMoved", "x": x, "y": y }));
    }

    /// Presses a key that is not a character. `modifiers`: 2 is Ctrl, 8 is Shift.
    pub(crate) fn press(&mut self, key: &str, modifiers: u8) {
        let code = match key {
            "Tab" => 9,
            "PageUp" => 33,
            "PageDown" => 34,
            "End" => 35,
            "Home" => 36,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            _ => panic!("no code for {key}"),
        };
        for kind in ["rawKeyDown", "keyUp"] {
            self.call(
                "Input.dispatchKeyEvent",
                json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code,
                        "modifiers": modifiers }),
            );
        }
    }

    /// Sets the size of the window.
    pub(crate) fn resize(&mut self, width: u32, height: u32) {
        self.call(
            "Emulation.setDeviceMetricsOverride",
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 }),
        );
    }

    /// Emulates a value of a media feature.
    pub(crate) fn emulate(&mut self, feature: &str, value: &str) {
        let features = json!([{ "name": feature, "value": value }]);
        self.call("Emulation.setEmulatedMedia", json!({ "features": features }));
    }

    /// Errors of the page, and requests for anything but the page.
    pub(crate) fn complaints(&mut self) -> Vec<String> {
        // A round trip: earlier events have arrived after it.
        self.evaluate("0");
        let own = url(&self.folder.path().join("page.html"));
        self.events
            .drain(..)
            .filter(|event| match event["method"].as_str() {
                Some("Runtime.exceptionThrown") => true,
                Some("Runtime.consoleAPICalled") => event["params"]["type"] != "log",
                Some("Log.entryAdded") => true,
                Some("Network.requestWillBeSent") => {
                    let url = event["params"]["request"]["url"].as_str().unwrap_or("");
                    url != own && !url.starts_with("data:")
                }
                _ => false,
            })
            .map(|event| event.to_string())
            .collect()
    }
}

fn url(file: &Path) -> String {
    format!("file://{}", file.display())
}

impl Drop for Browser {
    fn drop(&mut self) {
        // A browser that closes itself leaves no child processes.
        self.session = None;
        let close = b"{\"id\":0,\"method\":\"Browser.close\"}\0";
        let asked = self.pipe.write_all(close).is_ok();
        let end = Instant::now() + Duration::from_secs(if asked { 5 } else { 0 });
        while Instant::now() < end && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
