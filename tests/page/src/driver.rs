//! A chromedriver of one's own, and a browser session in it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fantoccini::wd::{Capabilities, WebDriverCompatibleCommand};
use fantoccini::{Client, ClientBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

/// A browser under control. It ends when dropped.
pub(crate) struct Driver {
    runtime: Runtime,
    client: Option<Client>,
    process: Child,
}

impl Driver {
    pub(crate) fn start() -> Self {
        let mut capabilities: Capabilities = serde_json::from_str(
            &fs::read_to_string(setting("PAGE_TESTS_CAPABILITIES")).expect("the capabilities file"),
        )
        .expect("capabilities in JSON");
        capabilities.insert("goog:loggingPrefs".to_owned(), json!({"browser": "ALL", "performance": "ALL"}));

        let mut process = Command::new(setting("CHROMEDRIVER"))
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver starts");
        let output = BufReader::new(process.stdout.take().expect("chromedriver's output"));
        let port = output.lines().map_while(Result::ok).find_map(|line| port_in(&line));
        let port = port.expect("chromedriver says its port");

        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let session = runtime.block_on(
            ClientBuilder::new(HttpConnector::new())
                .capabilities(capabilities)
                .connect(&format!("http://127.0.0.1:{port}")),
        );
        match session {
            Ok(client) => Self { runtime, client: Some(client), process },
            Err(error) => {
                let _ = process.kill();
                panic!("chromedriver opens no browser: {error}");
            }
        }
    }

    /// Waits for what the browser is asked through the WebDriver client.
    pub(crate) fn run<T, F: Future<Output = T>>(&self, ask: impl FnOnce(Client) -> F) -> T {
        let client = self.client.clone().expect("an open session");
        self.runtime.block_on(ask(client))
    }

    /// A command of Chromium's own protocol (`Emulation.setDeviceMetricsOverride`, ...).
    pub(crate) fn chromium(&self, command: &str, parameters: &Value) -> Value {
        self.extension("goog/cdp/execute", json!({"cmd": command, "params": parameters}))
    }

    /// What the browser logged since the last time: `browser` is the console, `performance` the network.
    pub(crate) fn log(&self, kind: &str) -> Vec<Value> {
        self.extension("se/log", json!({ "type": kind })).as_array().cloned().unwrap_or_default()
    }

    fn extension(&self, path: &'static str, body: Value) -> Value {
        let answer = self.run(|client| async move { client.issue_cmd(Extension { path, body }).await });
        answer.unwrap_or_else(|error| panic!("chromedriver refuses {path}: {error}"))
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            // The browser may be gone already; then there is nothing to close.
            let closing = async { tokio::time::timeout(Duration::from_secs(10), client.close()).await };
            let _ = self.runtime.block_on(closing);
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A setting that `cargo xtask test` gives to these tests.
pub(crate) fn setting(name: &str) -> std::ffi::OsString {
    std::env::var_os(name).unwrap_or_else(|| panic!("{name} is not set: these tests are run by `cargo xtask test`"))
}

fn port_in(line: &str) -> Option<u16> {
    line.split_once("started successfully on port ")?.1.trim_end_matches('.').trim().parse().ok()
}

/// A command of chromedriver beyond the WebDriver standard.
#[derive(Debug)]
struct Extension {
    path: &'static str,
    body: Value,
}

impl WebDriverCompatibleCommand for Extension {
    fn endpoint(&self, base: &url::Url, session: Option<&str>) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/{}", session.unwrap_or_default(), self.path))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(self.body.to_string()))
    }
}
