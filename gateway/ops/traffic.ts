import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { InvalidOperation } from '../operations/invalid-operation.ts';
import type { Session } from '../operations/session.ts';
import { chooseStep } from '../operations/traffic-steps.ts';
import { readTraffic, type Traffic } from '../operations/traffic.ts';
import { durationArgument, jsonOption, type JsonOption } from './options.ts';
import { print, printable, printError, printJson, printTable } from './output.ts';
import { retryWhileUnavailable, withRedis } from './redis-session.ts';
import { chartWidth, drawTraffic } from './traffic-chart.ts';
import { describeDuration, trafficHeadings, trafficRow } from './traffic-table.ts';

/** Gateways report every five seconds. */
const refreshMs = 5000;
/** Number of points if there is no terminal whose width decides, and no --step. */
const defaultPoints = 100;

/** Moves the cursor to the top left corner, and clears the screen below. */
const clearScreen = '\u{1B}[H\u{1B}[J';

interface TrafficOptions extends JsonOption {
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
    .option('--last <duration>', 'how far back, up to 7d', durationArgument, 3_600_000)
    .option('--step <duration>', 'time of a point: 10s, 20s, 30s or whole minutes', durationArgument)
    .option('--plan <name>', 'one plan; none for requests without a valid key')
    .option('--watch', 'refresh until Ctrl-C')
    .addOption(jsonOption())
    .action(async (options: TrafficOptions) => {
      const { json, watch } = options;
      if (watch && !json && !process.stdout.isTTY) {
        throw new InvalidOperation('--watch needs a terminal, or --json');
      }
      await withRedis(async (session) => {
        if (!watch) return show(await read(session, options), options);
        for (;;) {
          const traffic = await retryWhileUnavailable(() => read(session, options));
          if (!json) await print(clearScreen);
          await show(traffic, options);
          await sleep(refreshMs);
        }
      });
    });
}

function read(session: Session, { last, step, plan, json }: TrafficOptions): Promise<Traffic> {
  const toMs = session.now();
  const width = drawsChart(json) ? chartWidth(terminalColumns()) : undefined;
  const stepMs =
    width === undefined ? (step ?? chooseStep(last, defaultPoints)) : chooseStep(last, width - 1, step);
  return readTraffic(session, { fromMs: toMs - last, toMs, stepMs, plan });
}

async function show(traffic: Traffic, { last, plan, json }: TrafficOptions): Promise<void> {
  if (json) return printJson(traffic);
  const whose = plan === undefined ? 'all plans' : `plan ${plan}`;
  if (traffic.total.requests === 0) {
    await print(`no traffic of ${whose} in the last ${describeDuration(last)}\n`);
    await print('Gateways on this Redis report theirs every 5 s. A longer range: ops traffic --last 7d\n');
  } else if (drawsChart(json)) {
    const title = `Traffic of the last ${describeDuration(last)}, ${whose}, by ${describeDuration(traffic.stepMs)}`;
    await print(drawTraffic(traffic, { title: printable(title), columns: terminalColumns() }).join('\n'));
  } else {
    printTable(trafficHeadings, traffic.points.map(trafficRow));
  }
  for (const { key, issue } of traffic.issues) printError(`warning: ${key}: ${issue}`);
}

const drawsChart = (json: true | undefined) => process.stdout.isTTY && !json;

/** A terminal may not know its width, and then has none or 0. */
const terminalColumns = () => process.stdout.columns || 80;
