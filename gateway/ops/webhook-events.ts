import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import type { DeliveryEntry } from '../events/delivery-store.ts';
import { formatThresholds, type Thresholds } from '../limits/thresholds.ts';
import { listPlanThresholds, setPlanThresholds, type ListedThresholds } from '../operations/thresholds.ts';
import { readWebhookDeliveries, replayEvents, testWebhook } from '../operations/webhooks.ts';
import { changing } from './changing.ts';
import {
  addListOptions,
  fieldColumns,
  fieldLayout,
  listing,
  outputFormat,
  printList,
  type ListLayout,
  type ListOptions,
} from './list-output.ts';
import { asOption, jsonOption, thresholdsArgument, timeAgoArgument, type ChangeOptions } from './options.ts';
import { printFields, printJson, printWarning } from './output.ts';
import { withChanges, withRedis } from './redis-session.ts';
import { customerOption, ownerOf, webhookArgument, type OwnerOption } from './webhook-options.ts';

/** The leader looks for events each second, and an attempt takes 15 s at most. */
const [testPollMs, testPolls] = [250, 80];

export function testCommand(): Command {
  return new Command('test')
    .description('send a webhook an event of the type webhook.test, and print how it went')
    .argument('<webhook>', '', webhookArgument)
    .addOption(customerOption())
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (id: string, options: ChangeOptions & OwnerOption) => {
      const owner = ownerOf(options);
      const entry = await withChanges(options.as, async (session) => {
        const eventId = await testWebhook(session, owner, id);
        for (let poll = 0; poll < testPolls; poll += 1) {
          const found = (await readWebhookDeliveries(session, owner, id)).find(
            (delivery) => delivery.eventId === eventId,
          );
          if (found !== undefined) return found;
          await sleep(testPollMs);
        }
        return undefined;
      });
      if (entry === undefined) {
        printWarning('the event was not sent within 20 s: other events go first, or no gateway runs');
        process.exitCode = 1;
        return;
      }
      if (options.json) printJson(entry);
      else {
        const { delivered: _delivered, ...fields } = entry;
        printFields(fields);
      }
      if (!entry.delivered) process.exitCode = 1;
    });
}

const deliveriesLayout: ListLayout<DeliveryEntry> = fieldLayout({
  AT: 'at',
  TYPE: 'type',
  CUSTOMER: 'customerId',
  EVENT: 'eventId',
  ATTEMPT: 'attempt',
  OUTCOME: 'outcome',
  STATUS: 'status',
  ERROR: 'error',
  MS: 'ms',
});

export function deliveriesCommand(): Command {
  const command = new Command('deliveries')
    .description('the last 100 attempts of a webhook, newest first')
    .argument('<webhook>', '', webhookArgument)
    .addOption(customerOption());
  return listing(command, deliveriesLayout, (session) => {
    const [id = ''] = command.args;
    return readWebhookDeliveries(session, ownerOf(command.opts()), id);
  });
}

export function replayCommand(): Command {
  const command = new Command('replay')
    .description('send a webhook again what was given up, or everything since a time')
    .argument('<webhook>', '', webhookArgument)
    .addOption(customerOption())
    .option(
      '--since <time>',
      'all events since then that are still kept: ISO 8601, or a duration such as 2h',
      timeAgoArgument,
    );
  return changing(
    command,
    (id) => (session) =>
      replayEvents(session, ownerOf(command.opts()), id, command.opts<{ since?: Date }>().since),
  );
}

const thresholdsLayout: ListLayout<ListedThresholds> = {
  headings: ['PLAN', 'THRESHOLDS'],
  row: ({ plan, thresholds }) => [plan, thresholds === null ? 'invalid' : formatThresholds(thresholds)],
  csv: { ...fieldColumns('plan'), thresholds: ({ thresholds }) => formatThresholds(thresholds ?? undefined) },
};

export function thresholdsCommand(): Command {
  const command = new Command('thresholds')
    .description(
      'percentages of the day and month limits at which there is an event; with --set, changes them',
    )
    .option('--plan <plan>', 'of one plan; "*" for plans without their own', '*')
    .option(
      '--set <shares>',
      'such as 80,100; "none", or "plan" to remove those of the plan',
      thresholdsArgument,
    )
    .addOption(asOption());
  return addListOptions(command).action(
    async (options: ListOptions & ChangeOptions & { plan: string; set?: Thresholds | 'plan' }) => {
      const { plan, set, as } = options;
      const format = outputFormat(options);
      const thresholds = set === 'plan' ? null : set;
      const listed =
        thresholds === undefined
          ? await withRedis(listPlanThresholds)
          : await withChanges(as, (session) => setPlanThresholds(session, plan, thresholds));
      await printList(format, thresholdsLayout, listed);
    },
  );
}
