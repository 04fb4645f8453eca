import { existsSync } from 'node:fs';

/** Chromium of the system; undefined if it is not installed. */
export const chromiumPath = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find((path) =>
  existsSync(path),
);
