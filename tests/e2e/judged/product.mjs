// fetch with Rampmeter and default options.

import { Limiter } from "rampmeter";

const url = process.env.RAMPMETER_URL;
const calls = Number(process.env.RAMPMETER_CALLS);
const limiter = new Limiter();

await Promise.allSettled(Array.from({ length: calls }, (_, number) => limiter.fetch(`${url}/call/${number}`)));
