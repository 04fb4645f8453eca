import { open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDirectory } from '#runtime/data-directory.ts';
import type { Logger } from 'pino';
import { describeIssues } from './config/describe-issues.ts';
import type { LiveUsagePolicy } from './quota/usage-policy.ts';
import { createUsageReports, unsentUsage, type UsageReports } from './quota/usage-reports.ts';
import { parseJson } from './redis/parse-json.ts';
import type { RedisClient } from './redis/redis-client.ts';

/** Use of customers that Redis does not have when a process stops, in files of DATA_DIR, one for each process. */
export interface KeptUsage {
  /** Writes what was not reported. Never rejects: what cannot be written is logged as lost. */
  keep(): Promise<void>;
  /**
   * Adds what earlier processes have kept, and deletes their files. Several processes may do so at once: nothing is added
   * twice. Never rejects: what Redis does not take stays for the next call.
   */
  add(): Promise<void>;
}

interface KeptUsageDependencies {
  redis: RedisClient;
  /** Directory for what belongs to this Redis. */
  directory: string;
  usagePolicy: Pick<LiveUsagePolicy, 'current'>;
  usageReports: UsageReports;
  log: Logger;
  now: () => number;
}

export function createKeptUsage(dependencies: KeptUsageDependencies): KeptUsage {
  const { directory, usageReports, log } = dependencies;

  async function addFile(file: string): Promise<void> {
    const parsed = unsentUsage.safeParse(parseJson(await readFile(file, 'utf8')));
    if (!parsed.success) {
      const damaged = `${file}.damaged`;
      await rename(file, damaged);
      return log.error(
        { file: damaged, issues: describeIssues(parsed.error) },
        'file of use that Redis does not have is damaged, and was set aside',
      );
    }
    const reports = createUsageReports({ ...dependencies, ended: parsed.data });
    const requests = reports.pending();
    // Each report adds one day of each customer.
    while (reports.unsent() !== undefined) await reports.report();
    await rm(file);
    log.warn(
      { requests, file },
      'requests that an earlier process served without Redis were added to the day counters',
    );
  }

  /** There is no directory, or another process has added the file. */
  function logUnlessMissing(error: unknown): undefined {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return;
    log.error({ err: error }, 'what an earlier process has served without Redis cannot be added yet');
  }

  return {
    async keep() {
      const unsent = usageReports.unsent();
      if (unsent === undefined) return;
      const requests = usageReports.pending();
      const customers = new Set(unsent.reports.map(({ customerId }) => customerId)).size;
      const file = join(directory, `${unsent.processId}.json`);
      try {
        makeDirectory(directory);
        await writeWhole(file, JSON.stringify(unsent));
        log.warn(
          { requests, customers, file },
          'requests served without Redis are kept; the next start with this DATA_DIR adds them to the day counters',
        );
      } catch (error) {
        log.error(
          { err: error, requests, customers },
          'requests served without Redis are lost to the day counters',
        );
      }
    },
    async add() {
      const names = await readdir(directory).catch(logUnlessMissing);
      for (const name of names ?? []) {
        if (name.endsWith('.json')) await addFile(join(directory, name)).catch(logUnlessMissing);
      }
    },
  };
}

/** A crash leaves the whole file or none. */
async function writeWhole(file: string, text: string): Promise<void> {
  const draft = `${file}.draft`;
  const handle = await open(draft, 'w', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(draft, file);
}
