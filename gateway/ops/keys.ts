import { Command, Option } from 'commander';
import {
  type ApiKeyStore,
  createApiKeyStore,
  type IssuedApiKey,
  type StoredApiKey,
} from '../api-keys/api-key-store.ts';
import { issueFromFile } from './keys-from-file.ts';
import { keysExportCommand, keysImportCommand } from './keys-transfer.ts';
import {
  asOption,
  countArgument,
  graceArgument,
  jsonOption,
  limitArgument,
  limitOrPlanArgument,
  nameArgument,
  timeArgument,
  timeOrNeverArgument,
} from './options.ts';
import { writeFields, writeJson, writeJsonArray, writeTablePages } from './output.ts';
import { nothingChanges, withChanges, withRedis } from './redis-connection.ts';
import { shownKey, shownRecord } from './shown-key.ts';

const now = () => Date.now();

export function keysCommand(): Command {
  return new Command('keys')
    .description('API keys of clients')
    .addCommand(issueCommand())
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(setCommand())
    .addCommand(rotateCommand())
    .addCommand(revokeCommand())
    .addCommand(keysExportCommand())
    .addCommand(keysImportCommand());
}

interface JsonOption {
  json?: true;
}

interface ChangeOptions extends JsonOption {
  as: string;
}

interface IssueOptions extends ChangeOptions {
  plan?: string;
  name?: string;
  from?: string;
  expires?: Date;
  minute?: number;
  day?: number;
}

function issueCommand(): Command {
  return new Command('issue')
    .description('make a key; it is shown this once and kept nowhere')
    .option('--plan <plan>', 'free, pro, business, enterprise or one of your own')
    .option('--name <name>', 'whose key it is', nameArgument)
    .option('--expires <time>', 'ISO 8601, UTC unless it says otherwise', timeArgument)
    .option('--minute <n>', 'own limit a minute, in place of the plan’s', limitArgument)
    .option('--day <n>', 'own limit a UTC day, in place of the plan’s', limitArgument)
    .option(
      '--from <file>',
      'make many: CSV with the columns name, plan and, if wanted, expires, minute, day',
    )
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (options: IssueOptions, command: Command) => {
      const { plan, name, from, expires: expiresAt, minute, day, as, json } = options;
      if (from !== undefined) {
        const others = [plan, name, expiresAt, minute, day].some((given) => given !== undefined);
        if (others) command.error('error: --from takes everything from the file');
        return issueFromFile(from, as, json);
      }
      if (plan === undefined) return command.error("error: required option '--plan <plan>' not specified");
      if (name === undefined) return command.error("error: required option '--name <name>' not specified");
      const issued = await changeKeys(as, (store) => store.issue({ plan, name, expiresAt, minute, day }));
      writeIssued(issued, json);
    });
}

const listedFields = ['ID', 'KEY', 'NAME', 'PLAN', 'MINUTE', 'DAY', 'STATE', 'CREATED', 'EXPIRES'];

interface ListOptions extends JsonOption {
  limit?: number;
  after?: string;
}

function listCommand(): Command {
  return new Command('list')
    .description('keys, oldest first')
    .option('--limit <n>', 'so many at the most', countArgument(100_000_000))
    .option('--after <id>', 'begin behind this key')
    .addOption(jsonOption())
    .action(async ({ limit, after, json }: ListOptions) => {
      await readKeys(async (store) => {
        const pages = shownPages(store, after, limit);
        if (json) return writeJsonArray(pages);
        await writeTablePages(listedFields, listedRows(pages));
      });
    });
}

async function* shownPages(store: ApiKeyStore, after: string | undefined, limit = Number.POSITIVE_INFINITY) {
  let left = limit;
  for await (const page of store.list(after, Math.min(left, 500))) {
    const shown = page.slice(0, left).map((key) => shownKey(key, now()));
    yield shown;
    left -= shown.length;
    if (left <= 0) return;
  }
}

async function* listedRows(pages: ReturnType<typeof shownPages>) {
  for await (const page of pages) {
    yield page.map(({ id, hint, name, plan, minute, day, state, createdAt, expiresAt }) => [
      id,
      hint,
      name,
      plan,
      minute,
      day,
      state,
      createdAt,
      expiresAt,
    ]);
  }
}

function showCommand(): Command {
  return new Command('show')
    .description('one key')
    .argument('<id>')
    .addOption(jsonOption())
    .action(async (id: string, { json }: JsonOption) => {
      const { record } = await readKeys((store) => store.show(id));
      writeKey({ outcome: 'record', record }, json);
    });
}

interface SetOptions extends ChangeOptions {
  plan?: string;
  name?: string;
  expires?: Date | 'never';
  minute?: number | 'plan';
  day?: number | 'plan';
}

function setCommand(): Command {
  return new Command('set')
    .description('change a key; in force from its next request on')
    .argument('<id>')
    .option('--plan <plan>', 'another plan')
    .option('--name <name>', 'whose key it is', nameArgument)
    .option('--expires <time>', 'ISO 8601, or "never"', timeOrNeverArgument)
    .option('--minute <n>', 'own limit a minute, or "plan" to follow the plan again', limitOrPlanArgument)
    .option('--day <n>', 'own limit a UTC day, or "plan" to follow the plan again', limitOrPlanArgument)
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (id: string, options: SetOptions, command: Command) => {
      const { plan, name, expires, minute, day, as, json } = options;
      if ([plan, name, expires, minute, day].every((given) => given === undefined)) {
        command.error('error: nothing to set: give --plan, --name, --expires, --minute or --day');
      }
      const change = {
        plan,
        name,
        expiresAt: expires === 'never' ? null : expires,
        minute: minute === 'plan' ? null : minute,
        day: day === 'plan' ? null : day,
      };
      const record = await changeKeys(as, (store) => store.change(id, change));
      writeKey({ outcome: 'record', record }, json);
    });
}

interface RotateOptions extends ChangeOptions {
  grace: number;
}

function rotateCommand(): Command {
  return new Command('rotate')
    .description('make a key in place of another one, which goes on working for a while')
    .argument('<id>', 'of the key to replace')
    .addOption(
      new Option('--grace <duration>', 'how long the old key still works; 0 ends it now')
        .argParser(graceArgument)
        .default(graceArgument('24h'), '24h'),
    )
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (id: string, { grace, as, json }: RotateOptions) => {
      writeIssued(await changeKeys(as, (store) => store.rotate(id, grace)), json);
    });
}

function revokeCommand(): Command {
  return new Command('revoke')
    .description('refuse a key from its next request on, for good')
    .argument('<id>')
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (id: string, { as, json }: ChangeOptions) => {
      writeKey(await changeKeys(as, (store) => store.revoke(id)), json);
    });
}

function readKeys<T>(use: (store: ApiKeyStore) => Promise<T>): Promise<T> {
  return withRedis((redis) => use(createApiKeyStore({ redis, audit: nothingChanges, now })));
}

function changeKeys<T>(who: string, use: (store: ApiKeyStore) => Promise<T>): Promise<T> {
  return withChanges(who, (changing) => use(createApiKeyStore({ ...changing, now })));
}

function writeIssued({ key, record }: IssuedApiKey, json: true | undefined): void {
  const { id, ...rest } = shownRecord(record, now());
  if (json) writeJson({ id, key, ...rest });
  else writeFields({ id, key, ...rest });
}

function writeKey(key: StoredApiKey, json: true | undefined): void {
  const shown = shownKey(key, now());
  if (json) writeJson(shown);
  else writeFields(shown);
}
