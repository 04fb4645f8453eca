import { setTimeout as sleep } from 'node:timers/promises';
import { Command, Option } from 'commander';
import { InvalidOperation } from '../operations/invalid-operation.ts';
import type { Session } from '../operations/session.ts';
import { chooseStep } from '../operations/traffic-steps.ts';
import { readTraffic, type Traffic } from '../operations/traffic.ts';
import { outputFormat, outputOption, printList, type ListOptions, type OutputFormat } from './list-output.ts';
import { durationArgument, jsonOption } from './options.ts';
import { clearScreen, print, printable, printError, printJson } from './output.ts';
import { retryWhileUnavailable, withRedis } from './redis-session.ts';
import { chartWidth, drawTraffic } from './traffic-chart.ts';
import { describeDuration, trafficLayout } from './traffic-table.ts';

/** Gateways report every five seconds. */
const refreshMs = 5000;
/** Number of points if there is no terminal whose width decides, and no --step. */
const defaultPoints = 100;

interface TrafficOptions extends ListOptions {
  last: number;
  step?: number;
  plan?: string;
  watch?: true;
}

export function trafficCommand(): Command {
  return new Command('traffic')
    .description(
      'requests a second by status, latency, refusals and bans of all gateways: a chart on a terminal',
    )
    .addOption(
      new Option('--last <duration>', 'how far back, up to 7d')
        .argParser(durationArgument)
        .default(3_600_000, '1h'),
    )
    .option('--step <duration>', 'time of a point: 10s, 20s, 30s or whole minutes', durationArgument)
    .option('--plan <name>', 'one plan; none for requests without a valid key')
    .option('--watch', 'refresh until Ctrl-C')
    .addOption(outputOption('table, json or csv; without it, a chart on a terminal'))
    .addOption(jsonOption())
    .action(async (options: TrafficOptions) => {
      const { watch } = options;
      const format = formatOf(options);
      if (watch && format !== 'json' && (format === 'csv' || !process.stdout.isTTY)) {
        throw new InvalidOperation('--watch needs a terminal, or --json');
      }
      await withRedis(async (session) => {
        if (!watch) return show(await read(session, options, format), options, format);
        for (;;) {
          const traffic = await retryWhileUnavailable(() => read(session, options, format));
          if (format !== 'json') await print(clearScreen);
          await show(traffic, options, format);
          await sleep(refreshMs);
        }
      });
    });
}

type Format = OutputFormat | 'chart';

function formatOf(options: ListOptions): Format {
  const format = outputFormat(options);
  return format === 'table' && options.output === undefined && process.stdout.isTTY ? 'chart' : format;
}

function read(session: Session, { last, step, plan }: TrafficOptions, format: Format): Promise<Traffic> {
  const toMs = session.now();
  const width = format === 'chart' ? chartWidth(terminalColumns()) : undefined;
  const stepMs =
    width === undefined ? (step ?? chooseStep(last, defaultPoints)) : chooseStep(last, width - 1, step);
  return readTraffic(session, { fromMs: toMs - last, toMs, stepMs, plan });
}

async function show(traffic: Traffic, { last, plan }: TrafficOptions, format: Format): Promise<void> {
  if (format === 'json') return printJson(traffic);
  const whose = plan === undefined ? 'all plans' : `plan ${plan}`;
  if (traffic.total.requests === 0 && format !== 'csv') {
    await print(`no traffic of ${whose} in the last ${describeDuration(last)}\n`);
    await print('Gateways on this Redis report theirs every 5 s. A longer range: ops traffic --last 7d\n');
  } else if (format === 'chart') {
    const title = `Traffic of the last ${describeDuration(last)}, ${whose}, by ${describeDuration(traffic.stepMs)}`;
    await print(drawTraffic(traffic, { title: printable(title), columns: terminalColumns() }).join('\n'));
  } else {
    // Without the time before the first traffic, when there may have been no gateway.
    const first =
      format === 'table' ? traffic.points.findIndex(({ requests, bans }) => requests + bans > 0) : 0;
    await printList(format, trafficLayout, traffic.points.slice(first));
  }
  for (const { key, issue } of traffic.issues) printError(`warning: ${key}: ${issue}`);
}

/** A terminal may not know its width, and then has none or 0. */
const terminalColumns = () => process.stdout.columns || 80;
