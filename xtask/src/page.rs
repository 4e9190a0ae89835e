//! Building and serving the page.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::ExitCode;
use std::time::Duration;

use crate::shell::{self, Outcome, say};
use crate::tools::Tools;

const PORT: u16 = 8080;

/// Reads the options of `serve`: the port to begin with.
pub fn port(options: &[&str]) -> Outcome<u16> {
    match options {
        [] => Ok(PORT),
        ["--port", number] => {
            let port = number.parse().ok().filter(|port| *port > 0);
            port.ok_or_else(|| format!("--port takes a number from 1 to 65535, not `{number}`."))
        }
        other => Err(format!("`serve` takes only --port N, not `{}`.", other.join(" "))),
    }
}

/// Makes the page, `dist/index.html`, installing the tools first where they are missing.
pub fn build_with_tools() -> Outcome<ExitCode> {
    build(&Tools::make_sure()?)?;
    say("The page is dist/index.html, one file: put it on any static host, into any folder, or open it as it is");
    Ok(ExitCode::SUCCESS)
}

/// Makes the page, `dist/index.html`: Trunk builds it, and calls `bundle` to make it one file.
pub fn build(tools: &Tools) -> Outcome<()> {
    shell::run(tools.trunk()?.args(["build", "--release"]), "building the page")
}

/// Builds the page for development and serves it with live reload until interrupted.
pub fn serve(port: u16) -> Outcome<ExitCode> {
    let tools = Tools::make_sure()?;
    let port = free_port(port)?;
    say("Building the page: a minute or two the first time, seconds after that; Ctrl-C ends");
    let mut command = tools.trunk()?;
    command
        .args(["serve", "--address", "127.0.0.1", "--port", &port.to_string()])
        // A folder of its own: the deployable page in dist/ stays what `build` made it.
        .args(["--dist", "target/serve"]);
    announce(port);
    shell::run(&mut command, "serving the page")?;
    Ok(ExitCode::SUCCESS)
}

/// The port that was asked for, or the next one that nobody listens on.
fn free_port(first: u16) -> Outcome<u16> {
    let last = first.saturating_add(100);
    let free = (first..=last).find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok());
    let port = free.ok_or_else(|| format!("every port from {first} to {last} is taken: give another with --port."))?;
    if port != first {
        say(&format!("Port {first} is taken; using {port}"));
    }
    Ok(port)
}

/// Says the address as soon as the server answers.
fn announce(port: u16) {
    std::thread::spawn(move || {
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            std::thread::sleep(Duration::from_millis(200));
        }
        say(&format!("The page is at http://127.0.0.1:{port}/ and follows every change of the source"));
    });
}

#[cfg(test)]
mod tests {
    use super::port;

    #[test]
    fn the_port_is_read() {
        assert_eq!(port(&[]), Ok(8080));
        assert_eq!(port(&["--port", "9000"]), Ok(9000));
        assert!(port(&["--port", "0"]).is_err());
        assert!(port(&["--port", "70000"]).is_err());
        assert!(port(&["--prot", "9000"]).is_err());
    }
}
