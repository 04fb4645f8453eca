import { Command } from 'commander';
import { retentionField } from '../limits/setting-fields.ts';
import { adjustUsageExpiry } from '../operations/adjust-usage-expiry.ts';
import { resetDay } from '../operations/reset-day.ts';
import { setSetting, showSetting } from '../operations/settings.ts';
import { usageSetting } from '../quota/usage-policy.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { changing } from './changing.ts';
import { asOption, countArgument, idArgument, jsonOption, type ChangeOptions } from './options.ts';
import { printResult } from './output.ts';
import { withProgressLine } from './progress.ts';
import { withChanges, withRedis } from './redis-session.ts';

interface RetentionOptions extends ChangeOptions {
  days?: number;
}

export function usageRetentionCommand(): Command {
  return new Command('retention')
    .description('days for which the use of keys is kept; older use is deleted')
    .option('--days <n>', 'set it, and the expiry of what is stored', countArgument(retentionField.max))
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async ({ days, as, json }: RetentionOptions) => {
      printResult(days === undefined ? await show() : await set(as, days), json);
    });
}

async function show() {
  return withRedis(async (session) => ({ days: (await showSetting(session, usageSetting)).retentionDays }));
}

/** Adjusts also what is stored if the setting stays the same: it may have been set with redis-cli, or interrupted. */
async function set(who: string, days: number) {
  return withChanges(who, async (session) => {
    let before: number | null = null;
    await setSetting(session, usageSetting, { retentionDays: days }, (stored) => {
      before = stored?.retentionDays ?? null;
    });
    return { before, days, adjustedRedisKeys: await adjustStoredUse(session.redis, days) };
  });
}

/** Gives stored use the expiry of a new retention, with progress on a terminal. @returns number of Redis keys that changed */
export async function adjustStoredUse(redis: RedisClient, days: number): Promise<number> {
  return withProgressLine('Redis keys', (onProgress) =>
    adjustUsageExpiry(redis, days, ({ scanned, total }) => onProgress(scanned, total)),
  );
}

export function usageResetCommand(): Command {
  const command = new Command('reset')
    .description(
      'give a key its UTC day back: the day limit counts from 0 again, the record of use keeps all',
    )
    .argument('<id>', '', idArgument);
  return changing(command, (id) => async (session) => ({
    id,
    setBack: await resetDay(session, id),
  }));
}
