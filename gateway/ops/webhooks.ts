import { setTimeout as sleep } from 'node:timers/promises';
import { Command, InvalidArgumentError, Option } from 'commander';
import { loadConfig } from '../config/config.ts';
import { webhookIdPattern } from '../events/webhook-record.ts';
import type { Delivery } from '../events/webhook-status.ts';
import { assertNotApiKey } from '../operations/pasted-key.ts';
import {
  addWebhook,
  changeWebhook,
  listWebhooks,
  readWebhookDeliveries,
  removeWebhook,
  testWebhook,
  type WebhookView,
} from '../operations/webhooks.ts';
import type { CustomerId } from '../redis/redis-keys.ts';
import { changing } from './changing.ts';
import { fieldColumns, fieldLayout, listing, type ListLayout } from './list-output.ts';
import { asOption, customerArgument, jsonOption, nameArgument, type ChangeOptions } from './options.ts';
import { printFields, printJson, printWarning } from './output.ts';
import { withChanges } from './redis-session.ts';

interface WebhookOptions {
  types?: readonly string[] | 'all';
  description?: string;
}

export function webhooksCommand(): Command {
  return new Command('webhooks')
    .description('addresses that events are sent to, of all customers or of one')
    .addCommand(listCommand())
    .addCommand(addCommand())
    .addCommand(setCommand())
    .addCommand(removeCommand())
    .addCommand(testCommand())
    .addCommand(deliveriesCommand());
}

/** Which addresses are allowed: as for the gateways, by the settings. */
const networks = () => loadConfig(process.env).webhookNetworks;

function webhookArgument(text: string): string {
  assertNotApiKey(text);
  if (!webhookIdPattern.test(text))
    throw new InvalidArgumentError('It is not the id of a webhook, such as wh_282dd48c706990d4.');
  return text;
}

function urlArgument(text: string): string {
  assertNotApiKey(text);
  return text;
}

/** Whether they exist is for the operation to say. */
const typesArgument = (text: string) => (text === 'all' ? text : text.split(',').map((type) => type.trim()));

const typesOf = ({ types }: WebhookOptions) => (types === 'all' ? null : types);

const webhookLayout: ListLayout<WebhookView> = {
  headings: ['ID', 'STATE', 'CUSTOMER', 'TYPES', 'URL'],
  row: ({ id, state, customerId, types, url }) => [
    id,
    state,
    customerId ?? 'all',
    types?.join(',') ?? 'all',
    url,
  ],
  csv: {
    ...fieldColumns(
      'id',
      'customerId',
      'url',
      'description',
      'state',
      'failingSince',
      'disabledBecause',
      'createdAt',
    ),
    types: ({ types }) => types?.join(' ') ?? '',
  },
};

const listCommand = () =>
  listing(new Command('list').description('webhooks, oldest first'), webhookLayout, listWebhooks);

function addFacts(command: Command): Command {
  return command
    .option('--types <types>', 'types of events, with commas between them, or "all"', typesArgument)
    .option('--description <text>', 'what it is for', nameArgument);
}

function addCommand(): Command {
  const command = new Command('add')
    .description('send events to an address; prints the secret that signs them, which is shown this once')
    .argument('<url>', '', urlArgument)
    .option('--customer <customer>', 'events of this customer only', customerArgument);
  return changing(
    addFacts(command),
    (url) => {
      const options = command.opts<WebhookOptions & { customer?: CustomerId }>();
      const { customer: customerId, description } = options;
      const wanted = { url, types: typesOf(options), description, customerId };
      return (session) => addWebhook(session, wanted, networks());
    },
    printWebhook,
  );
}

function setCommand(): Command {
  const command: Command = new Command('set')
    .description('change a webhook, or switch it on or off; --on also ends that it is disabled')
    .argument('<webhook>', '', webhookArgument)
    .option('--url <url>', 'another address', urlArgument)
    .addOption(new Option('--on', 'send events to it').conflicts('off'))
    .option('--off', 'send nothing to it; it does not get what happens in between');
  return changing(
    addFacts(command),
    (id) => {
      const options = command.opts<WebhookOptions & { url?: string; on?: true; off?: true }>();
      const { url, on, off, description } = options;
      const enabled = on ?? (off === true ? false : undefined);
      const change = { url, types: typesOf(options), description, enabled };
      if (Object.values(change).every((value) => value === undefined))
        command.error('error: nothing to set: see ops webhooks set --help');
      return (session) => changeWebhook(session, id, change, networks());
    },
    printWebhook,
  );
}

function removeCommand(): Command {
  const command = new Command('remove')
    .description('delete a webhook with its deliveries')
    .argument('<webhook>', '', webhookArgument);
  return changing(command, (id) => (session) => removeWebhook(session, id), printWebhook);
}

/** An attempt takes 15 s at most. */
const [testPollMs, testPolls] = [250, 80];

function testCommand(): Command {
  return new Command('test')
    .description('send a webhook an event of the type webhook.test, once, and print how it went')
    .argument('<webhook>', '', webhookArgument)
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (id: string, options: ChangeOptions) => {
      const delivery = await withChanges(options.as, async (session) => {
        const eventId = await testWebhook(session, id);
        for (let poll = 0; poll < testPolls; poll += 1) {
          const deliveries = await readWebhookDeliveries(session, id);
          const found = deliveries.find((each) => each.eventId === eventId);
          if (found !== undefined) return found;
          await sleep(testPollMs);
        }
        return undefined;
      });
      if (delivery === undefined) printWarning('the event was not sent within 20 s: does a gateway run?');
      else if (options.json) printJson(delivery);
      else printFields(delivery);
      if (delivery?.outcome !== 'delivered') process.exitCode = 1;
    });
}

const deliveriesLayout: ListLayout<Delivery> = fieldLayout({
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

function deliveriesCommand(): Command {
  const command = new Command('deliveries')
    .description('the last 50 attempts of a webhook, newest first')
    .argument('<webhook>', '', webhookArgument);
  return listing(command, deliveriesLayout, (session) =>
    readWebhookDeliveries(session, command.args[0] ?? ''),
  );
}

function printWebhook(view: WebhookView, json: true | undefined): void {
  if (json) printJson(view);
  else printFields({ ...view, types: view.types?.join(',') ?? 'all' });
}
