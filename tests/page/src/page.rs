//! The page as a person meets it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base64::Engine as _;
use fantoccini::elements::Element;
use fantoccini::error::CmdError;
use fantoccini::{Client, Locator};
use serde_json::{Value, json};

use crate::driver::{Driver, setting};
use crate::server::serve;

/// How long the page may take for anything. Generous, because tests share two cores with builds.
const PATIENCE: Duration = Duration::from_secs(20);

/// The language of the person's browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Simplified Chinese.
    Chinese,
    /// English.
    English,
}

impl Language {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Chinese, Self::English];

    fn accepted(self) -> &'static str {
        match self {
            Self::Chinese => "zh-CN,zh",
            Self::English => "en-US,en",
        }
    }
}

/// The size of the person's window, in CSS pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    width: u32,
    height: u32,
    mobile: bool,
}

impl Window {
    /// A desktop.
    pub const DESKTOP: Self = Self { width: 1440, height: 900, mobile: false };
    /// A phone.
    pub const PHONE: Self = Self { width: 390, height: 844, mobile: true };
}

/// The page, open in a browser of its own.
///
/// Elements are named by CSS selectors; a word that begins with `@` stands for a `data-testid`: `@answer`, `@oom code`.
pub struct Page {
    test: String,
    address: String,
    driver: Driver,
}

impl Page {
    /// Opens the page. `test` names pictures of failures.
    pub fn open(test: &str, language: Language, window: Window) -> Self {
        Self::open_at(test, language, window, "")
    }

    /// Opens the page at a link (what follows the page's own address, `?...` or `#...`) and waits for its answer.
    pub fn open_at(test: &str, language: Language, window: Window, link: &str) -> Self {
        let page = Self::blank(test, language, window);
        page.go(link);
        page.text("@answer-head");
        page.texts("main");
        page
    }

    /// A browser that has not gone to the page yet.
    pub fn blank(test: &str, language: Language, window: Window) -> Self {
        Self::blank_at(test, language, window, serve(built().parent().expect("its folder")))
    }

    /// A browser before a folder on a server that holds the page and these files; it has gone nowhere yet.
    pub fn beside(test: &str, language: Language, window: Window, files: &[(&str, &str)]) -> Self {
        let folder = folder(test);
        fs::copy(built(), folder.join("index.html")).expect("the page is copied");
        for (name, text) in files {
            fs::write(folder.join(name), text).expect("a file beside the page");
        }
        Self::blank_at(test, language, window, serve(&folder))
    }

    /// A browser before a document of this text that lies on its own as a file; it has not been opened yet.
    pub fn file(test: &str, language: Language, window: Window, content: &str) -> Self {
        let file = folder(test).join("显卡 够用吗.html");
        fs::write(&file, content).expect("a file");
        let address = url::Url::from_file_path(&file).expect("the address of a file");
        Self::blank_at(test, language, window, address.into())
    }

    fn blank_at(test: &str, language: Language, window: Window, address: String) -> Self {
        let browser = Self { test: test.to_owned(), address, driver: Driver::start() };

        let agent = browser.script("return navigator.userAgent");
        let spoken = json!({"userAgent": agent, "acceptLanguage": language.accepted()});
        browser.driver.chromium("Network.setUserAgentOverride", &spoken);
        let Window { width, height, mobile } = window;
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile});
        browser.driver.chromium("Emulation.setDeviceMetricsOverride", &size);
        browser.driver.chromium("Emulation.setTouchEmulationEnabled", &json!({ "enabled": mobile }));
        browser
    }

    /// Goes to a link of the page in the same browser, as one does who was sent it.
    pub fn go(&self, link: &str) {
        let address = format!("{}{link}", self.address);
        // Leaving first makes a link that differs only after # load the page anew.
        for address in ["about:blank", &address] {
            let done = self.driver.run(|client| async move { client.goto(address).await });
            done.unwrap_or_else(|error| self.fail(&format!("{address} does not open: {error}")));
        }
    }

    /// A command of Chromium's own protocol, for what no person can do by hand (`Emulation.setScriptExecutionDisabled`).
    pub fn chromium(&self, command: &str, parameters: &Value) -> Value {
        self.driver.chromium(command, parameters)
    }

    /// Goes into the frame that `css` selects: everything after happens in there.
    pub fn enter(&self, css: &str) {
        self.with(css, |element| async move { element.enter_frame().await });
    }

    /// Goes back from a frame to the page that it stands in.
    pub fn leave(&self) {
        let done = self.driver.run(|client| async move { client.enter_parent_frame().await });
        done.unwrap_or_else(|error| self.fail(&format!("the frame cannot be left: {error}")));
    }

    /// Goes a step back in the browser's history.
    pub fn back(&self) {
        let done = self.driver.run(|client| async move { client.back().await });
        done.unwrap_or_else(|error| self.fail(&format!("there is no way back: {error}")));
    }

    /// Loads the page anew.
    pub fn reload(&self) {
        let done = self.driver.run(|client| async move { client.refresh().await });
        done.unwrap_or_else(|error| self.fail(&format!("the page does not reload: {error}")));
    }

    /// The address that the browser shows, without the place of the page: `""`, `?...`, `#...`.
    pub fn link(&self) -> String {
        let address = self.script("return location.href");
        let address = address.as_str().unwrap_or_default();
        address.strip_prefix(&self.address).unwrap_or(address).to_owned()
    }

    /// The text a person sees at the first element that `css` selects; waits until there is one.
    pub fn text(&self, css: &str) -> String {
        self.with(css, |element| async move { element.text().await })
    }

    /// The text of every element that `css` selects, now; a page that is still being drawn is waited for.
    pub fn texts(&self, css: &str) -> Vec<String> {
        let script = "return document.querySelector('[aria-busy=true]') ? null
            : [...document.querySelectorAll(arguments[0])].map(element => element.innerText.trim())";
        let drawn = || Some(self.script_with(script, vec![json!(selector(css))])).filter(Value::is_array);
        let found = self.wait("the page is drawn", drawn);
        found.as_array().into_iter().flatten().filter_map(|text| text.as_str().map(str::to_owned)).collect()
    }

    /// How many elements `css` selects, now.
    pub fn count(&self, css: &str) -> usize {
        self.texts(css).len()
    }

    /// What stands in an input, now.
    pub fn value(&self, css: &str) -> String {
        self.with(css, |element| async move { element.prop("value").await }).unwrap_or_default()
    }

    /// An attribute of an element, now.
    pub fn attribute(&self, css: &str, name: &str) -> Option<String> {
        let name = name.to_owned();
        self.with(css, |element| async move { element.attr(&name).await })
    }

    /// Clicks or taps.
    pub fn click(&self, css: &str) {
        self.with(css, |element| async move { element.click().await });
    }

    /// Replaces what stands in an input, key by key. Keys that are not characters are WebDriver's (`fantoccini::key`).
    pub fn type_into(&self, css: &str, text: &str) {
        let select_all = "arguments[0].focus(); arguments[0].select && arguments[0].select()";
        let focused = "document.querySelector(arguments[0])";
        self.text(css);
        self.script_with(&select_all.replace("arguments[0]", focused), vec![json!(selector(css))]);
        let text = if text.is_empty() { "\u{e017}".to_owned() } else { text.to_owned() };
        if text.chars().any(|sign| sign > '\u{ffff}') {
            // "ChromeDriver only supports characters in the BMP": such signs come as from a paste.
            let paste = "document.execCommand('insertText', false, arguments[0])";
            self.script_with(paste, vec![json!(text)]);
        } else {
            self.with(css, |element| async move { element.send_keys(&text).await });
        }
        self.taken_up();
    }

    /// Presses keys with the focus where it is on this element, after what stands there.
    pub fn press(&self, css: &str, keys: &str) {
        let keys = keys.to_owned();
        self.with(css, |element| async move { element.send_keys(&keys).await });
        self.taken_up();
    }

    /// The page answers the keys that came together in a task of its own, which comes before this one.
    fn taken_up(&self) {
        self.wait_for_script("setTimeout(arguments[arguments.length - 1])");
    }

    /// Pastes as a person does who clicked beside all fields.
    pub fn paste(&self, text: &str) {
        let script = "const data = new DataTransfer(); data.setData('text/plain', arguments[0]);
            document.body.dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true}))";
        self.script_with(script, vec![json!(text)]);
    }

    /// Drops a file onto the page.
    pub fn drop_file(&self, name: &str, text: &str) {
        let script = "const data = new DataTransfer(); data.items.add(new File([arguments[1]], arguments[0]));
            document.body.dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}))";
        self.script_with(script, vec![json!(name), json!(text)]);
    }

    /// Chooses an option of a select by the text it shows.
    pub fn choose(&self, css: &str, label: &str) {
        let label = label.to_owned();
        self.with(css, |element| async move { element.select_by_label(&label).await });
    }

    /// Chooses an option of a select by its value.
    pub fn choose_value(&self, css: &str, value: &str) {
        let value = value.to_owned();
        self.with(css, |element| async move { element.select_by_value(&value).await });
    }

    /// Waits until the element shows this text somewhere in it, and returns all it shows.
    pub fn wait_for_text(&self, css: &str, part: &str) -> String {
        let shown = || self.texts(css).into_iter().find(|text| text.contains(part));
        self.wait(&format!("`{css}` shows “{part}”"), shown)
    }

    /// Waits until the element shows other text than this, and returns it.
    pub fn wait_for_change(&self, css: &str, before: &str) -> String {
        let changed = || self.texts(css).into_iter().next().filter(|text| text != before);
        self.wait(&format!("`{css}` shows something else than “{before}”"), changed)
    }

    /// Waits until there is an answer, asking again and again.
    pub fn wait<T>(&self, what: &str, mut answer: impl FnMut() -> Option<T>) -> T {
        let start = Instant::now();
        loop {
            if let Some(answer) = answer() {
                return answer;
            }
            if start.elapsed() > PATIENCE {
                self.fail(&format!("waited in vain until {what}"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Runs a script in the page and returns its value.
    pub fn script(&self, script: &str) -> Value {
        self.script_with(script, Vec::new())
    }

    /// Runs a script that finds `arguments` in the page and returns its value.
    pub fn script_with(&self, script: &str, arguments: Vec<Value>) -> Value {
        let value = self.driver.run(|client| async move { client.execute(script, arguments).await });
        value.unwrap_or_else(|error| self.fail(&format!("the script `{script}` failed: {error}")))
    }

    /// Runs a script that calls its last argument when it is done, and returns what it gave.
    pub fn wait_for_script(&self, script: &str) -> Value {
        let value = self.driver.run(|client| async move { client.execute_async(script, Vec::new()).await });
        value.unwrap_or_else(|error| self.fail(&format!("the script `{script}` failed: {error}")))
    }

    /// The document as it stands.
    pub fn source(&self) -> String {
        let source = self.driver.run(|client| async move { client.source().await });
        source.unwrap_or_else(|error| self.fail(&format!("the page cannot be read: {error}")))
    }

    /// Takes a picture of the whole page to `target/screenshots/NAME.png`.
    pub fn picture(&self, name: &str) {
        let options = json!({"format": "png", "captureBeyondViewport": true});
        let taken = self.driver.chromium("Page.captureScreenshot", &options);
        let taken = taken.get("data").and_then(Value::as_str).unwrap_or_default();
        let image = base64::engine::general_purpose::STANDARD.decode(taken).expect("a picture in base64");
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/screenshots");
        fs::create_dir_all(&folder).expect("a folder for pictures");
        fs::write(folder.join(format!("{name}.png")), image).expect("a picture is written");
    }

    /// The page is no wider than the window: nothing scrolls sideways.
    pub fn fits_the_window(&self) {
        let widths = self.script("return [document.documentElement.scrollWidth, document.documentElement.clientWidth]");
        let [page, window] = [0, 1].map(|index| widths.get(index).and_then(Value::as_u64).unwrap_or_default());
        if page > window {
            self.fail(&format!("the page is {page} pixels wide in a window of {window}"));
        }
    }

    /// Nothing went wrong unseen: no error on the console, nothing fetched but the page's own files, all of them found.
    pub fn was_quiet(&self) {
        for entry in self.driver.log("browser") {
            let said = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            if said("level") == "SEVERE" {
                self.fail(&format!("the console says: {}", said("message")));
            }
        }
        for entry in self.driver.log("performance") {
            let message = entry.get("message").and_then(Value::as_str).unwrap_or_default();
            let Ok(event) = serde_json::from_str::<Value>(message) else { continue };
            let text = |path: &str| event.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
            let fetched = match text("/message/method").as_str() {
                "Network.requestWillBeSent" => text("/message/params/request/url"),
                "Network.webSocketCreated" => text("/message/params/url"),
                _ => continue,
            };
            let own = [self.address.as_str(), "data:", "blob:", "about:"];
            if !own.iter().any(|place| fetched.starts_with(place)) {
                self.fail(&format!("the page fetched {fetched}"));
            }
        }
    }

    /// Does something with the first element that `css` selects, once there is one. An element that the page replaced
    /// or moved meanwhile is looked up again.
    fn with<T, F, Act>(&self, css: &str, act: Act) -> T
    where
        F: Future<Output = Result<T, CmdError>>,
        Act: FnOnce(Element) -> F + Clone,
    {
        let full = selector(css);
        let start = Instant::now();
        loop {
            let (act, full) = (act.clone(), full.as_str());
            let done =
                self.driver.run(|client: Client| async move { act(client.find(Locator::Css(full)).await?).await });
            match done {
                Ok(value) => return value,
                Err(error) if start.elapsed() > PATIENCE => self.fail(&format!("`{css}` cannot be used: {error}")),
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    /// Takes a picture and ends the test.
    fn fail(&self, sentence: &str) -> ! {
        if !std::thread::panicking() {
            self.picture(&format!("failed-{}", self.test));
        }
        panic!("{}: {sentence} (see target/screenshots/failed-{}.png)", self.test, self.test)
    }
}

/// The built page.
pub fn built() -> PathBuf {
    let file = Path::new(&setting("PAGE_TESTS_DIST")).join("index.html");
    assert!(file.is_file(), "there is no built page at {}", file.display());
    file
}

/// How many sheets a PDF in base64 has.
pub fn sheets(pdf: &str) -> usize {
    let pdf = base64::engine::general_purpose::STANDARD.decode(pdf).expect("a PDF in base64");
    let text = String::from_utf8_lossy(&pdf);
    text.matches("/Type /Page").count() - text.matches("/Type /Pages").count()
}

/// A folder for the files of one test, empty.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/page-tests").join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder for a test");
    folder.canonicalize().expect("a folder for a test")
}

/// Writes `@name` as the selector of a `data-testid`.
fn selector(css: &str) -> String {
    let word = |word: &str| word.strip_prefix('@').map_or(word.to_owned(), |id| format!("[data-testid='{id}']"));
    css.split(' ').map(word).collect::<Vec<_>>().join(" ")
}
