export function search(request: Request, response: Response) {
  response.set("Retry-After", "30");
  response.status(429).json({ retry: true, retryAfter: 30 });
}
