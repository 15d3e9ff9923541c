package server

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// A refusal answers 429, http.StatusTooManyRequests.
const slowDown = http.StatusTooManyRequests
const teapot = 418

var names = map[int]string{429: "Too Many Requests", 418: "I'm a teapot"}
var retryable = []int{429, 500, 503}

func bare(w http.ResponseWriter, r *http.Request) {
	http.Error(w, http.StatusText(http.StatusTooManyRequests), http.StatusTooManyRequests) // SENDS nothing
}

func byNumber(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(429) // SENDS nothing
}

func byOwnName(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(slowDown) // SENDS nothing
}

func whole(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Retry-After", "30")
	w.WriteHeader(http.StatusTooManyRequests) // SENDS windowed
	json.NewEncoder(w).Encode(map[string]any{"retry": true, "retryAfter": 30})
}

func full(w http.ResponseWriter, r *http.Request) {
	if len(queue) > 8 {
		w.WriteHeader(http.StatusTooManyRequests) // SENDS capacity
		fmt.Fprint(w, `{"retry": true, "limit": 8}`)
		return
	}
	w.Header().Set("Retry-After", "5")
}

func framework(c *gin.Context) {
	c.JSON(http.StatusTooManyRequests, gin.H{"error": "slow down", "code": 429}) // SENDS nothing
}

func fiberLike(c *fiber.Ctx) error {
	return c.Status(fiber.StatusTooManyRequests).SendString("slow down") // SENDS nothing
}

func made(err error) *http.Response {
	return &http.Response{StatusCode: http.StatusTooManyRequests} // SENDS nothing
}

func (limited) StatusCode() int {
	return 429 // SENDS nothing
}

func client(response *http.Response) bool {
	if response.StatusCode == http.StatusTooManyRequests || response.StatusCode == 429 {
		return true
	}
	switch response.StatusCode {
	case http.StatusTooManyRequests, 503:
		return true
	}
	wait := seconds(429)
	message := "429 Too Many Requests"
	return retryable[429] != 0 && wait > 0 && message != ""
}

func TestLimits(t *testing.T) {
	assert.Equal(t, http.StatusTooManyRequests, response.Code)
	t.Errorf("wanted %d", http.StatusTooManyRequests)
}

func others(c echo.Context, r *http.Request) error {
	if spent(c) {
		return echo.NewHTTPError(http.StatusTooManyRequests, "slow down") // SENDS nothing
	}
	status := http.StatusTooManyRequests // SENDS nothing
	return c.NoContent(status)
}

func aborted(c *gin.Context) {
	c.Header("Retry-After", "30")
	c.AbortWithStatusJSON(429, gin.H{"retry": true, "retryAfter": 30}) // SENDS windowed
}

func lookalikes(response *http.Response) {
	log.Printf("got %d", http.StatusTooManyRequests)
	limits := map[int]bool{429: true}
	metrics.Inc(http.StatusTooManyRequests)
	port, width := 429, 429
	use(limits, port, width)
}
