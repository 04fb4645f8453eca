import { plansFileJsonSchema } from './plans-file.ts';

/** Prints plans-file.schema.json: `npm run describe:plans-file`. */
process.stdout.write(JSON.stringify(plansFileJsonSchema(), null, 2));
