//! A middleware that keeps what HTTP allows to keep.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::SystemTime;

use http::Extensions;
use http_cache_semantics::{BeforeRequest, CachePolicy};
use reqwest::{Request, Response};
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
            return Ok(http::Response::from_parts(parts, body).into());
        }

        let response = next.run(request, extensions).await?;
        let mut answer = http::Response::new(());
        *answer.status_mut() = response.status();
        *answer.headers_mut() = response.headers().clone();
        let policy = CachePolicy::new(&head, &answer);
        let body = response.bytes().await?.to_vec();
        if policy.is_storable() {
            let entry = Entry { policy, body: body.clone() };
            self.kept.lock().expect("nothing panics under this lock").insert(url, entry);
        }
        Ok(http::Response::from_parts(answer.into_parts().0, body).into())
    }
}
