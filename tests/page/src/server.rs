//! Serves the built page from a folder, under a sub-path, as a static host would.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};

/// Where the page lies on the server: not at the root, because a static host may put it anywhere.
const BASE: &str = "/some/where/";

/// Starts a server that lives as long as the test, and returns the address of the page.
pub fn serve(folder: &Path) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port for the page");
    let port = listener.local_addr().expect("the address of the page").port();
    let folder = folder.to_path_buf();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let folder = folder.clone();
            // A browser that hangs up early is no concern of the server.
            std::thread::spawn(move || answer(&stream, &folder).ok());
        }
    });
    format!("http://127.0.0.1:{port}{BASE}")
}

fn answer(stream: &TcpStream, folder: &Path) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    // The header is read to its end: closing with unread input would cut the answer off.
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let file = request.split_whitespace().nth(1).and_then(|target| file_of(target, folder));
    let mut stream = stream;
    match file.and_then(|file| Some((fs::read(&file).ok()?, kind_of(&file)))) {
        Some((body, kind)) => {
            let length = body.len();
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n")?;
            stream.write_all(b"Connection: close\r\n\r\n")?;
            stream.write_all(&body)
        }
        None => stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
    }
}

fn file_of(target: &str, folder: &Path) -> Option<PathBuf> {
    let path = target.split(['?', '#']).next()?.strip_prefix(BASE)?;
    let path = if path.is_empty() { "index.html" } else { path };
    (!path.contains("..")).then(|| folder.join(path))
}

fn kind_of(file: &Path) -> &'static str {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript",
        Some("wasm") => "application/wasm",
        Some("css") => "text/css",
        Some("svg") => "image/svg+xml",
        Some("json" | "webmanifest") => "application/json",
        _ => "application/octet-stream",
    }
}
