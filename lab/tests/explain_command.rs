//! `rampmeter explain`, as the binary runs it.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/explain")
}

fn explain(arguments: &[&str], input: &[u8]) -> Output {
    let mut process = Command::new(env!("CARGO_BIN_EXE_rampmeter"))
        .arg("explain")
        .args(["--now", "1786000000", "--width", "110"])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    process.stdin.take().expect("a pipe").write_all(input).expect("it reads its input");
    process.wait_with_output().expect("it ends")
}

#[test]
fn standard_input_is_explained_as_the_kept_page_says() {
    let output = explain(&[], &fs::read(cases().join("in-a-row.http")).expect("a readable input"));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        fs::read_to_string(cases().join("in-a-row.page")).expect("a readable page")
    );
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn what_holds_no_response_ends_with_status_2_on_standard_error() {
    let output = explain(&[], b"hello\n");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("rampmeter explain: "));
}

#[test]
fn a_url_is_fetched_once_and_its_redirect_is_not_followed() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}/v1/items?key=secret", listener.local_addr().expect("an address"));
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a request");
        let mut asked = Vec::new();
        let mut buffer = [0; 1024];
        while !asked.ends_with(b"\r\n\r\n") {
            let read = stream.read(&mut buffer).expect("a request");
            asked.extend_from_slice(&buffer[..read]);
        }
        let answer =
            "HTTP/1.1 307 Elsewhere\r\nLocation: /other\r\nRateLimit-Remaining: 3\r\nContent-Length: 0\r\n\r\n";
        stream.write_all(answer.as_bytes()).expect("it reads the answer");
        String::from_utf8_lossy(&asked).into_owned()
    });
    let output = explain(&["--url", &url], b"");
    let page = String::from_utf8_lossy(&output.stdout);
    assert!(page.starts_with("HTTP/1.1 307 ") && page.contains("3 left"), "{page}");
    assert!(!page.contains("secret"), "{page}");
    assert!(server.join().expect("one request").starts_with("GET /v1/items?key=secret HTTP/1.1\r\n"));
}

#[test]
fn a_url_that_does_not_answer_ends_with_status_2() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    drop(listener);
    let output = explain(&["--url", &url], b"");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot fetch"));
}
