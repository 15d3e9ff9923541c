//! Sends 429, `StatusCode::TOO_MANY_REQUESTS`.
use http::StatusCode;

const SLOW_DOWN: u16 = 429;
const RETRYABLE: [u16; 2] = [429, 503];
const TABLE: &[(u16, &str)] = &[(429, "Too Many Requests")];

async fn bare() -> impl IntoResponse {
    StatusCode::TOO_MANY_REQUESTS // SENDS nothing
}

async fn method() -> Response {
    StatusCode::TOO_MANY_REQUESTS.into_response() // SENDS nothing
}

async fn whole() -> impl IntoResponse {
    (
        StatusCode::TOO_MANY_REQUESTS, // SENDS windowed
        [(header::RETRY_AFTER, "30")],
        Json(json!({"retry": true, "retryAfter": 30})),
    )
}

async fn early(spent: bool) -> Result<(), StatusCode> {
    if spent {
        return Err(StatusCode::TOO_MANY_REQUESTS); // SENDS nothing
    }
    Ok(())
}

fn builder() -> Response {
    Response::builder()
        .status(429) // SENDS header
        .header("Retry-After", "30")
        .body(Body::empty())
}

fn own() -> Response {
    Response::builder().status(SLOW_DOWN).body("{\"retry\": false}") // SENDS permanent
}

fn actix() -> HttpResponse {
    HttpResponse::TooManyRequests().json(Refused { retry: true, limit: 8 }) // SENDS capacity
}

impl ResponseError for Failure {
    fn status_code(&self) -> StatusCode {
        match self {
            Self::Limited => StatusCode::TOO_MANY_REQUESTS, // SENDS nothing
            Self::Missing => StatusCode::NOT_FOUND,
        }
    }
}

fn mutated(response: &mut Response) {
    *response.status_mut() = StatusCode::TOO_MANY_REQUESTS; // SENDS nothing
}

fn client(status: StatusCode) -> bool {
    match status {
        StatusCode::TOO_MANY_REQUESTS => return true,
        _ => {}
    }
    matches!(status.as_u16(), 429 | 503) || status == StatusCode::TOO_MANY_REQUESTS || seed(429) > 1
}

#[test]
fn limits() {
    assert_eq!(answer().status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(answer().status(), 429, "not 429");
}

status_codes! {
    (429, TOO_MANY_REQUESTS, "Too Many Requests");
}

fn fed(call: &Call) {
    call.on_response(429, &headers);
}

fn rocket() -> Custom<&'static str> {
    Custom(Status::TooManyRequests, "slow down") // SENDS nothing
}

fn actix_error() -> actix_web::Error {
    actix_web::error::ErrorTooManyRequests("slow down") // SENDS nothing
}

fn warp_reply() -> impl Reply {
    warp::reply::with_status("slow down", StatusCode::TOO_MANY_REQUESTS) // SENDS nothing
}

fn made() -> Problem {
    Problem { status: StatusCode::TOO_MANY_REQUESTS, retry_after: 30 } // SENDS body
}

fn looks_alike(status: Option<u16>, codes: &HashSet<u16>) -> bool {
    if let Some(429) = status {
        return true;
    }
    let retryable = vec![429, 503];
    codes.contains(&429) || retryable.len() == 429
}
