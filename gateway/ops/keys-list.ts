import { Command } from 'commander';
import type { ApiKeyStore } from '../operations/api-key-store.ts';
import { keyView } from '../operations/key-view.ts';
import { readKeys } from './key-store.ts';
import { listedKeys } from './listed-keys.ts';
import { countArgument, jsonOption, type JsonOption } from './options.ts';
import { printJsonArray, printTablePages } from './output.ts';

const now = () => Date.now();
const headings = ['ID', 'KEY', 'NAME', 'PLAN', 'MINUTE', 'DAY', 'STATE', 'CREATED', 'EXPIRES'];

interface ListOptions extends JsonOption {
  limit?: number;
  after?: string;
}

export function keysListCommand(): Command {
  return new Command('list')
    .description('keys, oldest first')
    .option('--limit <n>', 'maximum number of keys', countArgument(100_000_000))
    .option('--after <id>', 'id of the key before the first one')
    .addOption(jsonOption())
    .action(async ({ limit, after, json }: ListOptions) => {
      await readKeys(async (store) => {
        const pages = viewPages(store, after, limit);
        if (json) return printJsonArray(pages);
        await printTablePages(headings, rowPages(pages));
      });
    });
}

async function* viewPages(store: ApiKeyStore, after: string | undefined, limit = Number.POSITIVE_INFINITY) {
  let left = limit;
  for await (const page of listedKeys(store, after, Math.min(left, 500))) {
    const views = page.slice(0, left).map((key) => keyView(key, now()));
    yield views;
    left -= views.length;
    if (left <= 0) return;
  }
}

async function* rowPages(pages: ReturnType<typeof viewPages>) {
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
