import { Command } from 'commander';
import { type ApiKeyRecord, apiKeyState } from '../api-keys/api-key-record.ts';
import { type ApiKeyStore, createApiKeyStore, type ListedApiKey } from '../api-keys/api-key-store.ts';
import { jsonOption, limitArgument, limitOrPlanArgument, nameArgument, timeArgument } from './options.ts';
import { writeFields, writeJson, writeTable } from './output.ts';
import { withRedis } from './redis-connection.ts';

const now = () => Date.now();

export function keysCommand(): Command {
  const keys = new Command('keys').description('API keys of clients');

  keys
    .command('issue')
    .description('make a key; it is shown this once and kept nowhere')
    .requiredOption('--plan <plan>', 'free, pro, business, enterprise or one of your own')
    .requiredOption('--name <name>', 'whose key it is', nameArgument)
    .option('--expires <time>', 'ISO 8601, UTC unless it says otherwise', timeArgument)
    .option('--minute <n>', 'own limit a minute, in place of the plan’s', limitArgument)
    .option('--day <n>', 'own limit a UTC day, in place of the plan’s', limitArgument)
    .addOption(jsonOption())
    .action(async ({ plan, name, expires, minute, day, json }: IssueOptions) => {
      const { key, record } = await withStore((store) =>
        store.issue({ plan, name, expiresAt: expires, minute, day }),
      );
      const { id, ...rest } = shown(record);
      if (json) writeJson({ id, key, ...rest });
      else writeFields({ id, key, ...rest });
    });

  keys
    .command('list')
    .description('all keys, oldest first')
    .addOption(jsonOption())
    .action(async ({ json }: JsonOption) => {
      const records = (await withStore((store) => store.list())).map(shownKey);
      if (json) return writeJson(records);
      writeTable(
        ['ID', 'KEY', 'NAME', 'PLAN', 'MINUTE', 'DAY', 'STATE', 'CREATED', 'EXPIRES'],
        records.map((record) => [
          record.id,
          record.hint,
          record.name,
          record.plan,
          record.minute,
          record.day,
          record.state,
          record.createdAt,
          record.expiresAt,
        ]),
      );
    });

  keys
    .command('show')
    .description('one key')
    .argument('<id>')
    .addOption(jsonOption())
    .action(async (id: string, { json }: JsonOption) => {
      writeRecord(await withStore((store) => store.show(id)), json);
    });

  keys
    .command('set')
    .description('change a key; in force from its next request on')
    .argument('<id>')
    .option('--plan <plan>', 'another plan')
    .option('--minute <n>', 'own limit a minute, or "plan" to follow the plan again', limitOrPlanArgument)
    .option('--day <n>', 'own limit a UTC day, or "plan" to follow the plan again', limitOrPlanArgument)
    .addOption(jsonOption())
    .action(async (id: string, { plan, minute, day, json }: SetOptions, command: Command) => {
      if (plan === undefined && minute === undefined && day === undefined) {
        command.error('error: nothing to set: give --plan, --minute or --day');
      }
      writeRecord(
        await withStore((store) => store.change(id, { plan, minute: ownLimit(minute), day: ownLimit(day) })),
        json,
      );
    });

  keys
    .command('revoke')
    .description('refuse a key from its next request on, for good')
    .argument('<id>')
    .addOption(jsonOption())
    .action(async (id: string, { json }: JsonOption) => {
      const revoked = shownKey(await withStore((store) => store.revoke(id)));
      if (json) writeJson(revoked);
      else writeFields(revoked);
    });

  return keys;
}

interface JsonOption {
  json?: true;
}

interface IssueOptions extends JsonOption {
  plan: string;
  name: string;
  expires?: Date;
  minute?: number;
  day?: number;
}

interface SetOptions extends JsonOption {
  plan?: string;
  minute?: number | 'plan';
  day?: number | 'plan';
}

function withStore<T>(use: (store: ApiKeyStore) => Promise<T>): Promise<T> {
  return withRedis((redis) => use(createApiKeyStore({ redis, now })));
}

/** Null takes the key's own limit away. */
function ownLimit(given: number | 'plan' | undefined): number | null | undefined {
  return given === 'plan' ? null : given;
}

/** Every field in every answer; null for what a key does not have. */
function shown(record: ApiKeyRecord) {
  const { id, name, plan, hint, createdAt, expiresAt, minute, day, revokedAt, rev } = record;
  return {
    id,
    plan,
    name,
    hint,
    minute: minute ?? null,
    day: day ?? null,
    state: apiKeyState(record, now()),
    createdAt,
    expiresAt: expiresAt ?? null,
    revokedAt: revokedAt ?? null,
    rev,
  };
}

/** A record that can't be read is shown too, in the same shape: it may still be refused or revoked. */
function shownKey(key: ListedApiKey) {
  if (key.outcome === 'record') return shown(key.record);
  const empty = { plan: '', name: `unusable: ${key.faults.join('; ')}`, hint: '', minute: null, day: null };
  const state = key.revoked ? ('revoked' as const) : ('unusable' as const);
  return { id: key.id, ...empty, state, createdAt: '', expiresAt: null, revokedAt: null, rev: 0 };
}

function writeRecord(record: ApiKeyRecord, json: true | undefined): void {
  if (json) writeJson(shown(record));
  else writeFields(shown(record));
}
