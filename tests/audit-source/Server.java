package server;

/** Sends 429. */
class Server {
    private static final int SLOW_DOWN = 429;
    static final int[] RETRYABLE = {429, 503};
    static final Map<Integer, String> PHRASES = Map.of(429, "Too Many Requests");

    ResponseEntity<String> bare() {
        return ResponseEntity.status(HttpStatus.TOO_MANY_REQUESTS).body("slow down"); // SENDS nothing
    }

    ResponseEntity<Map<String, Object>> whole() {
        return ResponseEntity.status(429) // SENDS windowed
            .header(HttpHeaders.RETRY_AFTER, "30")
            .body(Map.of("retry", true, "retryAfter", 30));
    }

    ResponseEntity<String> made() {
        return new ResponseEntity<>("slow down", HttpStatus.TOO_MANY_REQUESTS); // SENDS nothing
    }

    void servlet(HttpServletResponse response) throws IOException {
        response.setHeader("Retry-After", "30");
        response.sendError(SLOW_DOWN); // SENDS header
    }

    void thrown() {
        throw new ResponseStatusException(HttpStatus.TOO_MANY_REQUESTS, "slow down"); // SENDS nothing
    }

    @ResponseStatus(HttpStatus.TOO_MANY_REQUESTS) // SENDS nothing
    static class LimitedException extends RuntimeException {}

    @ApiResponse(responseCode = "429", description = "slow down")
    boolean client(HttpResponse<String> response) {
        switch (response.statusCode()) {
            case 429:
                return true;
            default:
                break;
        }
        return response.statusCode() == 429 || response.getStatusCode() == HttpStatus.TOO_MANY_REQUESTS || seed(429) > 1;
    }

    @Test
    void limits() {
        assertEquals(429, response.statusCode());
        assertThat(response.getStatusCode()).isEqualTo(HttpStatus.TOO_MANY_REQUESTS);
        mockMvc.perform(get("/x")).andExpect(status().isTooManyRequests());
    }
}

enum Code {
    LIMITED(429);
}

class Others {
    Mono<Void> filter(ServerWebExchange exchange) {
        exchange.getResponse().getHeaders().add("Retry-After", "30");
        exchange.getResponse().setStatusCode(HttpStatus.TOO_MANY_REQUESTS); // SENDS header
        return exchange.getResponse().setComplete();
    }

    Response jaxrs() {
        return Response.status(Response.Status.TOO_MANY_REQUESTS).build(); // SENDS nothing
    }

    void plain(HttpExchange exchange) throws IOException {
        exchange.sendResponseHeaders(429, -1); // SENDS nothing
    }

    ProblemDetail problem() {
        return ProblemDetail.forStatus(429); // SENDS nothing
    }

    boolean looksAlike(RestClientResponseException error) {
        log.warn("refused", 429);
        var retryable = Set.of(HttpStatus.TOO_MANY_REQUESTS, HttpStatus.BAD_GATEWAY);
        int width = 429;
        return HttpStatus.TOO_MANY_REQUESTS.equals(error.getStatusCode()) || retryable.contains(width);
    }
}
