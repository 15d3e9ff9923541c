//! A middleware that keeps what HTTP allows to keep.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::SystemTime;

use http::Extensions;
use http::response::Parts;
use http_cache_semantics::{BeforeRequest, CachePolicy};
use reqwest::{Request, Response, ResponseBuilderExt, Url};
use reqwest_middleware::{Middleware, Next, Result};

#[derive(Default)]
pub(crate) struct Cache {
    kept: Mutex<HashMap<String, Entry>>,
}

#[derive(Clone)]
struct Entry {
    policy: CachePolicy,
    body: Vec<u8>,
}

#[async_trait::async_trait]
impl Middleware for Cache {
    async fn handle(&self, request: Request, extensions: &mut Extensions, next: Next<'_>) -> Result<Response> {
        let url = request.url().to_string();
        let mut head = http::Request::new(());
        *head.uri_mut() = url.parse().expect("a URL that reqwest took is a URI");
        *head.headers_mut() = request.headers().clone();

        let entry = self.kept.lock().expect("nothing panics under this lock").get(&url).cloned();
        if let Some(Entry { policy, body }) = entry
            && let BeforeRequest::Fresh(parts) = policy.before_request(&head, SystemTime::now())
        {
            return Ok(response(request.url(), parts, body));
        }
        let asked = request.url().clone();

        let fresh = next.run(request, extensions).await?;
        let mut answer = http::Response::new(());
        *answer.status_mut() = fresh.status();
        *answer.headers_mut() = fresh.headers().clone();
        let policy = CachePolicy::new(&head, &answer);
        let body = fresh.bytes().await?.to_vec();
        if policy.is_storable() {
            let entry = Entry { policy, body: body.clone() };
            self.kept.lock().expect("nothing panics under this lock").insert(url, entry);
        }
        Ok(response(&asked, answer.into_parts().0, body))
    }
}

/// A response that knows whence it came.
fn response(url: &Url, parts: Parts, body: Vec<u8>) -> Response {
    let (mut named, ()) =
        http::response::Builder::new().url(url.clone()).body(()).expect("nothing but a URL was given").into_parts();
    named.status = parts.status;
    named.headers = parts.headers;
    http::Response::from_parts(named, body).into()
}
