package handlers

func upload(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Retry-After", "30")
	http.Error(w, "slow down", http.StatusTooManyRequests)
}
