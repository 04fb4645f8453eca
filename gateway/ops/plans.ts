import { Command } from 'commander';
import { createPlanStore } from '../quota/plan-store.ts';
import { jsonOption, limitArgument } from './options.ts';
import { writeFields, writeJson, writeTable } from './output.ts';
import { withRedis } from './redis-connection.ts';

export function plansCommand(): Command {
  const plans = new Command('plans').description(
    'limits of the plans, in force on all gateways within a second',
  );

  plans
    .command('list')
    .description('all plans; enterprise has its limits on each key, anonymous is the limit of an address')
    .addOption(jsonOption())
    .action(async ({ json }: { json?: true }) => {
      const rows = await withRedis((redis) => createPlanStore({ redis }).list());
      if (json) return writeJson(rows);
      writeTable(
        ['PLAN', 'MINUTE', 'DAY'],
        rows.map(({ name, minute, day }) => [name, minute, day]),
      );
    });

  plans
    .command('set')
    .description('change a plan, or make a new one')
    .argument('<name>')
    .option('--minute <n>', 'requests a minute', limitArgument)
    .option('--day <n>', 'requests a UTC day', limitArgument)
    .addOption(jsonOption())
    .action(async (name: string, { minute, day, json }: SetOptions) => {
      const limits = { ...(minute === undefined ? {} : { minute }), ...(day === undefined ? {} : { day }) };
      const row = await withRedis((redis) => createPlanStore({ redis }).set(name, limits));
      if (json) writeJson(row);
      else writeFields({ ...row });
    });

  return plans;
}

interface SetOptions {
  minute?: number;
  day?: number;
  json?: true;
}
