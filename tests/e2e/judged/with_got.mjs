// got with its own defaults.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

// Installed beside the test servers.
const require = createRequire(new URL("../../servers/", import.meta.url));
const { default: got } = await import(pathToFileURL(require.resolve("got")));

const url = process.env.RAMPMETER_URL;
const calls = Number(process.env.RAMPMETER_CALLS);

await Promise.allSettled(Array.from({ length: calls }, (_, number) => got(`${url}/call/${number}`)));
