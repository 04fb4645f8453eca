import { text } from '#runtime/environment.ts';
import { gatewayIssuers } from './trusted-keys.ts';

/** Name of an internal service and a file with one of its public keys. */
export interface CallerKeyFile {
  name: string;
  path: string;
}

/** Names are issuers of tokens and labels of metrics. */
const wellFormedName = /^[a-z\d][a-z\d._-]{0,62}$/;

/** `none` is the label of requests without a valid token. */
const reserved: ReadonlySet<string> = new Set([...gatewayIssuers, 'none']);

/** The setting PETS_SERVICE_CALLER_KEYS: `name:file`, separated by commas. A name with two keys is being rotated. */
export const callerKeyFiles = text
  .transform((list, context) => {
    const files: CallerKeyFile[] = [];
    for (const entry of list.split(',')) {
      const [, name = '', path = ''] = /^([^:]*):(.*)$/s.exec(entry.trim()) ?? [];
      const issue = findIssue(name, path.trim());
      if (issue === undefined) files.push({ name, path: path.trim() });
      else context.addIssue({ code: 'custom', message: `holds ${JSON.stringify(entry.trim())}: ${issue}` });
    }
    return files;
  })
  .default([]);

function findIssue(name: string, path: string): string | undefined {
  if (name === '' || path === '') return 'an entry is a name and a file, such as billing:/keys/billing.pem';
  if (reserved.has(name)) return `the name ${name} is reserved`;
  if (wellFormedName.test(name)) return undefined;
  return 'a name has 1 to 63 lower-case letters, digits, dots, hyphens and underscores';
}
