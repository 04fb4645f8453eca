import { Command } from 'commander';
import { createApiKeyStore } from '../operations/api-key-store.ts';
import { StoreRefusal } from '../operations/invalid-operation.ts';
import { planImpact, type PlanImpact } from '../operations/plan-impact.ts';
import { assertPlan, createPlanStore, lacksLimits, type PlanRow } from '../operations/plan-store.ts';
import type { Limits } from '../plans/limits.ts';
import { listedKeys } from './listed-keys.ts';
import { asOption, jsonOption, limitArgument, type ChangeOptions, type JsonOption } from './options.ts';
import { writeFault, writeFields, writeJson, writeTable } from './output.ts';
import { withChanges, withRedis } from './redis-connection.ts';

export function plansCommand(): Command {
  return new Command('plans')
    .description('limits of the plans, in force on all gateways within a second')
    .addCommand(listCommand())
    .addCommand(setCommand());
}

function listCommand(): Command {
  return new Command('list')
    .description('all plans; enterprise has its limits on each key, anonymous is the limit of an address')
    .addOption(jsonOption())
    .action(async ({ json }: JsonOption) => {
      const rows = await withRedis((session) => createPlanStore(session).list());
      if (json) writeJson(rows);
      else writePlans(rows);
      const lacking = rows.filter(lacksLimits).map(({ name }) => name);
      if (lacking.length > 0) {
        writeFault(
          `warning: no usable limits are set for ${lacking.join(', ')}: a gateway that starts sets the defaults of ` +
            'plans that are not there at all, running ones go on with their last good limits; see: ops plans set --help',
        );
      }
    });
}

function writePlans(rows: readonly PlanRow[]): void {
  writeTable(
    ['PLAN', 'MINUTE', 'DAY'],
    rows.map(({ name, minute, day }) => [name, minute, day]),
  );
}

interface SetOptions extends ChangeOptions {
  minute?: number;
  day?: number;
  dryRun?: true;
}

function setCommand(): Command {
  return new Command('set')
    .description('change a plan, or make a new one')
    .argument('<name>')
    .option('--minute <n>', 'requests a minute', limitArgument)
    .option('--day <n>', 'requests a UTC day', limitArgument)
    .option('--dry-run', 'change nothing, and say how many keys are over these limits now')
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (name: string, { minute, day, dryRun, as, json }: SetOptions) => {
      const limits = { ...(minute === undefined ? {} : { minute }), ...(day === undefined ? {} : { day }) };
      if (dryRun) return writeShown({ name, minute, day, ...(await tryLimits(name, limits)) }, json);
      const row = await withChanges(as, (session) => createPlanStore(session).set(name, limits));
      writeShown({ ...row }, json);
    });
}

async function tryLimits(name: string, limits: Partial<Limits>): Promise<PlanImpact> {
  return withRedis(async (session) => {
    assertPlan(name, limits);
    const { minute, day } = limits;
    // Only anonymous has no day limit.
    if (minute === undefined || day === undefined) throw new StoreRefusal(`no API key is on ${name}`);
    return planImpact({
      redis: session.redis,
      keys: listedKeys(createApiKeyStore(session)),
      plan: name,
      limits: { minute, day },
      nowMs: session.now(),
    });
  });
}

function writeShown(shown: Record<string, string | number | null | undefined>, json: true | undefined): void {
  if (json) writeJson(shown);
  else writeFields(shown);
}
