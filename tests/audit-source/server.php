<?php
// Sends 429.
const SLOW_DOWN = 429;
$retryable = [429, 503];
$phrases = [429 => 'Too Many Requests'];

class Items extends Controller
{
    const LIMITED = 429;

    public function bare()
    {
        abort(429, 'slow down'); // SENDS nothing
    }

    public function whole()
    {
        return response()->json(['retry' => true, 'retryAfter' => 30], Response::HTTP_TOO_MANY_REQUESTS) // SENDS windowed
            ->header('Retry-After', '30');
    }

    public function number()
    {
        return new JsonResponse(['retry' => false], 429); // SENDS permanent
    }

    public function thrown()
    {
        throw new TooManyRequestsHttpException(30, 'slow down'); // SENDS nothing
    }

    public function own($response)
    {
        return $response->withStatus(self::LIMITED)->withHeader('Retry-After', '30'); // SENDS header
    }
}

function plain()
{
    header('HTTP/1.1 429 Too Many Requests'); // SENDS header
    header('Retry-After: 30');
    exit;
}

function code()
{
    http_response_code(429); // SENDS nothing
}

function client($response, $retryable)
{
    if ($response->status === 429 || in_array(429, $retryable)) {
        return "got 429";
    }
    switch ($response->status) {
        case 429:
            return true;
    }
    return match ($response->status) {
        429 => 'slow down',
        default => seed(429),
    };
}

function limits($response, $test)
{
    $test->assertSame(429, $response->getStatusCode());
    $response->assertStatus(429);
}

function others($request)
{
    if (spent($request)) {
        throw new HttpException(429, 'slow down'); // SENDS nothing
    }
    return response('slow down', 429)->withHeaders(['Retry-After' => 30, 'X-Other' => 1]); // SENDS header
}

function symfony($response)
{
    $response->setStatusCode(Response::HTTP_TOO_MANY_REQUESTS); // SENDS nothing
}

function wordpress()
{
    return new WP_Error('slow_down', 'slow down', ['status' => 429]); // SENDS nothing
}

function looks_alike($error, $sizes)
{
    $width = 429;
    error_log('got 429');
    return $error->getCode() == 429 ? $sizes[429] : ['width' => 429];
}
