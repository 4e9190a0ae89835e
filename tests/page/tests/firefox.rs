//! The page in Firefox, by the protocol that Firefox itself speaks (Marionette): no driver between.
#![cfg(not(target_arch = "wasm32"))]

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use page_tests::{built, serve};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(60);

/// A Firefox under control. It ends when dropped.
struct Firefox {
    process: Child,
    stream: BufReader<TcpStream>,
    asked: u32,
}

impl Firefox {
    fn start(program: &OsString, language: &str) -> Self {
        let port =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|free| free.local_addr()).expect("a port").port();
        let profile = folder(&format!("profile-{language}"));
        let settings = format!(
            "user_pref(\"marionette.port\", {port});\nuser_pref(\"intl.accept_languages\", \"{language}\");\n\
             user_pref(\"app.update.auto\", false);\nuser_pref(\"network.captive-portal-service.enabled\", false);\n"
        );
        fs::write(profile.join("user.js"), settings).expect("a profile");
        let process = Command::new(program)
            .args(["--headless", "--no-remote", "--marionette", "--profile"])
            .arg(profile)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("Firefox starts");
        let start = Instant::now();
        let stream = loop {
            match TcpStream::connect((Ipv4Addr::LOCALHOST, port)) {
                Ok(stream) => break BufReader::new(stream),
                Err(error) => assert!(start.elapsed() < PATIENCE, "Firefox does not answer: {error}"),
            }
            std::thread::sleep(Duration::from_millis(200));
        };
        let mut firefox = Self { process, stream, asked: 0 };
        firefox.message();
        firefox.ask("WebDriver:NewSession", &json!({}));
        firefox
    }

    /// The next message: its length, a colon, JSON.
    fn message(&mut self) -> Value {
        let mut length = Vec::new();
        self.stream.read_until(b':', &mut length).expect("Firefox speaks");
        let length = String::from_utf8_lossy(&length).trim_end_matches(':').parse().expect("a length");
        let mut text = vec![0; length];
        self.stream.read_exact(&mut text).expect("Firefox speaks to the end");
        serde_json::from_slice(&text).expect("JSON")
    }

    fn ask(&mut self, command: &str, parameters: &Value) -> Value {
        self.asked += 1;
        let text = json!([0, self.asked, command, parameters]).to_string();
        write!(self.stream.get_mut(), "{}:{text}", text.len()).expect("Firefox listens");
        let answer = self.message();
        let error = answer.get(2).filter(|error| !error.is_null());
        assert!(error.is_none(), "{command} {parameters}: {error:?}");
        answer.get(3).cloned().unwrap_or_default()
    }

    fn go(&mut self, address: &str) {
        self.ask("WebDriver:Navigate", &json!({"url": "about:blank"}));
        self.ask("WebDriver:Navigate", &json!({"url": address}));
    }

    fn script(&mut self, script: &str) -> Value {
        self.ask("WebDriver:ExecuteScript", &json!({"script": script, "args": []}))
            .get("value")
            .cloned()
            .unwrap_or_default()
    }

    /// Waits until a script gives a text that is not empty.
    fn wait(&mut self, script: &str) -> String {
        let start = Instant::now();
        loop {
            if let Some(text) = self.script(script).as_str().filter(|text| !text.is_empty()) {
                return text.to_owned();
            }
            assert!(start.elapsed() < PATIENCE, "waited in vain for `{script}`");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn head(&mut self) -> String {
        self.wait("return document.querySelector('[data-testid=answer-head]')?.innerText")
    }

    fn type_into(&mut self, id: &str, text: &str) {
        let css = format!("[data-testid={id}]");
        self.script(&format!("const input = document.querySelector('{css}'); input.focus(); input.select()"));
        let found = self.ask("WebDriver:FindElement", &json!({"using": "css selector", "value": css}));
        let element = found.get("value").and_then(Value::as_object).and_then(|e| e.values().next()).cloned();
        self.ask("WebDriver:ElementSendKeys", &json!({"id": element, "text": text}));
    }

    fn picture(&mut self, name: &str) {
        let taken = self.ask("WebDriver:TakeScreenshot", &json!({"full": true}));
        let taken = taken.get("value").and_then(Value::as_str).unwrap_or_default();
        let image = base64::engine::general_purpose::STANDARD.decode(taken).expect("a picture");
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/screenshots");
        fs::create_dir_all(&folder).expect("a folder for pictures");
        fs::write(folder.join(format!("firefox-{name}.png")), image).expect("a picture is written");
    }

    /// Nothing was fetched, and nothing scrolls sideways.
    fn is_alone_and_fits(&mut self) {
        let fetched = self.script("return performance.getEntriesByType('resource').map((e) => e.name)");
        assert_eq!(fetched, json!([]), "the page fetched");
        let wider = self.script("return document.documentElement.scrollWidth > document.documentElement.clientWidth");
        assert_eq!(wider, json!(false), "the page is wider than the window");
    }
}

impl Drop for Firefox {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/page-tests/firefox").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder for a test");
    folder.canonicalize().expect("a folder for a test")
}

#[test]
#[ignore = "needs the built page and Firefox: cargo xtask firefox"]
fn the_page_works_in_firefox() {
    let Some(program) = std::env::var_os("PAGE_TESTS_FIREFOX") else {
        println!("not looked at in Firefox: `cargo xtask firefox` does it");
        return;
    };
    for (language, title, fits, short) in
        [("zh-CN", "显卡够用吗", "装得下", "装不下"), ("en-US", "Enough GPU", "fits", "short")]
    {
        let mut firefox = Firefox::start(&program, language);
        let copy = folder(language).join("显卡 够用吗.html");
        fs::copy(built(), &copy).expect("a copy");
        let file: String = url::Url::from_file_path(&copy).expect("an address").into();

        // From a disk, in the language of the browser; what is typed is answered, is in the link, and is undone by going back.
        firefox.go(&format!("{file}#preset=joke-chat-qlora&have=rtx-4060-ti-16gb"));
        let head = firefox.head();
        assert!(head.contains(fits), "{head}");
        assert!(firefox.wait("return document.querySelector('h1').innerText").contains(title));
        firefox.is_alone_and_fits();
        firefox.picture(&format!("disk-{language}"));
        firefox.type_into("input-sequence", "16384");
        firefox.wait("return location.hash.includes('seq=16384') ? location.hash : ''");
        let typed = firefox.head();
        assert!(typed != head, "{typed}");
        firefox.ask("WebDriver:Back", &json!({}));
        firefox.wait(&format!(
            "return document.querySelector('[data-testid=answer-head]')?.innerText == {} ? 'back' : ''",
            json!(head)
        ));

        // Under a sub-path, by a link, with a project that does not fit.
        let served = serve(built().parent().expect("its folder"));
        firefox.go(&format!("{served}#preset=joke-chat-qlora&seq=4096&batch=8&have=rtx-4060-ti-16gb"));
        let head = firefox.head();
        assert!(head.contains(short), "{head}");
        firefox.is_alone_and_fits();

        // The document as it stands is the project: what "save page" writes opens with it, once.
        let text = firefox.wait("return '<!DOCTYPE html>' + document.documentElement.outerHTML");
        let saved = folder(&format!("saved-{language}")).join("saved.html");
        fs::write(&saved, text).expect("a saved page");
        firefox.go(url::Url::from_file_path(&saved).expect("an address").as_str());
        assert_eq!(firefox.head(), head);
        assert_eq!(firefox.script("return document.querySelectorAll('h1').length"), json!(1));
        firefox.picture(&format!("saved-{language}"));

        // In a frame that may only run scripts: no storage, and the frame learns its height.
        let host = folder(&format!("host-{language}"));
        fs::copy(built(), host.join("index.html")).expect("a copy");
        let frame = "<!doctype html><meta charset=utf-8><iframe sandbox=\"allow-scripts\" width=400 src=\"index.html?embed\"></iframe>\
            <script>onmessage = (e) => { document.title = e.data.type + ' ' + e.data.height }</script>";
        fs::write(host.join("host.html"), frame).expect("a host");
        firefox.go(&format!("{}host.html", serve(&host)));
        let said = firefox.wait("return document.title.startsWith('enough-gpu') ? document.title : ''");
        println!("Firefox {language}: {head}; in a frame: {said}");
    }
}
