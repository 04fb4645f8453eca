import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

// Compiling some 400 modules takes more than half of the time of a command. What other users could write is not trusted.
enableCompileCache(fileURLToPath(new URL('../../../node_modules/.cache/ops', import.meta.url)));
const { run } = await import('./run.ts');
await run(process.argv.slice(2));
