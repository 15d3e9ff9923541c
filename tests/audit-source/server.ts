/* Sends 429. */
import { HttpException, HttpStatus } from "@nestjs/common";

type Limited = { status: 429; retryAfter: number };
enum Code {
  TooManyRequests = 429,
}
const retryable: ReadonlySet<number> = new Set([429, 503]);

export class LimitedError extends Error {
  readonly statusCode: number = 429; // SENDS nothing
}

@Controller()
export class Items {
  @Get()
  list() {
    throw new HttpException({ retry: true, retryAfter: 30 }, HttpStatus.TOO_MANY_REQUESTS); // SENDS body
  }

  @Get("whole")
  whole(@Res() response: Response): void {
    response.header("retry-after", "30");
    response.status(HttpStatus.TOO_MANY_REQUESTS).send({ retry: true, retryAfter: 30 }); // SENDS windowed
  }
}

export function fail(status: number = 429): never { // SENDS nothing
  throw new LimitedError(String(status));
}

export function next(): Response {
  return NextResponse.json({ error: "slow down" }, { status: 429 as const }); // SENDS nothing
}

export function isLimited(response: Response): response is Response {
  return response.status === 429 || retryable.has(429) || response.status === Code.TooManyRequests;
}

@Controller()
export class Documented {
  @ApiResponse({ status: 429, description: "slow down" })
  @HttpCode(429) // SENDS nothing
  answer() {}
}
