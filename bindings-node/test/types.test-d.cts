// Checked by `tsc --strict`, never run: what `require` gives has types too.

import rampmeter = require("rampmeter");

const limiter: rampmeter.Limiter = new rampmeter.Limiter({ maxAttempts: 2 });
const meters: rampmeter.Meter[] = limiter.meters();
const { fetch } = limiter;

export = { fetch, meters };
