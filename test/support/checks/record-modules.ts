import { appendFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

/*
 * Loaded into a service with NODE_OPTIONS. Appends the URL of each module of OpenTelemetry that the service loads to the
 * file in RECORDED_MODULES.
 */

const file = process.env['RECORDED_MODULES'];
if (file === undefined) throw new Error('RECORDED_MODULES is not set');

registerHooks({
  load(url, context, nextLoad) {
    if (url.includes('@opentelemetry/')) appendFileSync(file, `${url}\n`);
    return nextLoad(url, context);
  },
});
