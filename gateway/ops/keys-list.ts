import { Command } from 'commander';
import type { ApiKeyStore } from '../operations/api-key-store.ts';
import { shownKey } from '../operations/key-view.ts';
import { readKeys } from './key-store.ts';
import { listedKeys } from './listed-keys.ts';
import { countArgument, jsonOption, type JsonOption } from './options.ts';
import { writeJsonArray, writeTablePages } from './output.ts';

const now = () => Date.now();
const listedFields = ['ID', 'KEY', 'NAME', 'PLAN', 'MINUTE', 'DAY', 'STATE', 'CREATED', 'EXPIRES'];

interface ListOptions extends JsonOption {
  limit?: number;
  after?: string;
}

export function keysListCommand(): Command {
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
  for await (const page of listedKeys(store, after, Math.min(left, 500))) {
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
