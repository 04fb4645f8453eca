import { Command, Option } from 'commander';
import type { WebhookView } from '../operations/webhook-view.ts';
import {
  addWebhook,
  changeWebhook,
  defaultOverlapMs,
  listWebhooks,
  removeWebhook,
  rotateWebhookSecret,
  type WebhookWithSecret,
} from '../operations/webhooks.ts';
import { changing } from './changing.ts';
import { fieldColumns, listing, type ListLayout } from './list-output.ts';
import { graceArgument, nameArgument } from './options.ts';
import { printFields, printJson } from './output.ts';
import { deliveriesCommand, replayCommand, testCommand, thresholdsCommand } from './webhook-events.ts';
import {
  customerOption,
  ownerOf,
  urlArgument,
  webhookArgument,
  webhookRules,
  type OwnerOption,
} from './webhook-options.ts';

interface WebhookOptions extends OwnerOption {
  types?: readonly string[] | 'all';
  description?: string;
}

export function webhooksCommand(): Command {
  return new Command('webhooks')
    .description('addresses that events are sent to: of operators for all customers, or of one customer')
    .addCommand(listCommand())
    .addCommand(addCommand())
    .addCommand(setCommand())
    .addCommand(removeCommand())
    .addCommand(testCommand())
    .addCommand(rotateCommand())
    .addCommand(deliveriesCommand())
    .addCommand(replayCommand())
    .addCommand(thresholdsCommand());
}

/** Whether they exist is for the operation to say. */
const typesArgument = (text: string) => (text === 'all' ? text : text.split(',').map((type) => type.trim()));

const webhookLayout: ListLayout<WebhookView> = {
  headings: ['ID', 'STATE', 'QUEUED', 'DEAD', 'TYPES', 'URL'],
  row: ({ id, state, queued, dead, types, url }) => [id, state, queued, dead, types?.join(',') ?? 'all', url],
  csv: {
    ...fieldColumns(
      'id',
      'customerId',
      'url',
      'description',
      'state',
      'failingSince',
      'queued',
      'dead',
      'createdAt',
    ),
    types: ({ types }) => types?.join(' ') ?? '',
  },
};

function listCommand(): Command {
  const command = new Command('list').description('webhooks, oldest first').addOption(customerOption());
  return listing(command, webhookLayout, (session) => listWebhooks(session, ownerOf(command.opts())));
}

function addFacts(command: Command): Command {
  return command
    .option('--types <types>', 'types of events, with commas between them, or "all"', typesArgument)
    .option('--description <text>', 'what it is for', nameArgument);
}

const typesOf = ({ types }: WebhookOptions) => (types === 'all' ? null : types);

function addCommand(): Command {
  const command = new Command('add')
    .description('send events to an address; prints the secret that signs them, which is shown this once')
    .argument('<url>', '', urlArgument)
    .addOption(customerOption());
  return changing(
    addFacts(command),
    (url) => {
      const options = command.opts<WebhookOptions>();
      const wanted = { url, types: typesOf(options), description: options.description };
      return (session) => addWebhook(session, ownerOf(options), wanted, webhookRules());
    },
    printWebhook,
  );
}

function setCommand(): Command {
  const command: Command = new Command('set')
    .description('change a webhook, or switch it on or off; --on also sends to one that is disabled again')
    .argument('<webhook>', '', webhookArgument)
    .addOption(customerOption())
    .option('--url <url>', 'another address', urlArgument)
    .addOption(new Option('--on', 'send events to it').conflicts('off'))
    .option('--off', 'send nothing to it; what happens meanwhile it gets by a replay only');
  return changing(
    addFacts(command),
    (id) => {
      const options = command.opts<WebhookOptions & { url?: string; on?: true; off?: true }>();
      const { url, on, off, description } = options;
      const enabled = on ?? (off === true ? false : undefined);
      const change = { url, types: typesOf(options), description, enabled };
      if (Object.values(change).every((value) => value === undefined)) {
        command.error('error: nothing to set: see ops webhooks set --help');
      }
      return (session) => changeWebhook(session, ownerOf(options), id, change, webhookRules());
    },
    printWebhook,
  );
}

function removeCommand(): Command {
  const command = new Command('remove')
    .description('delete a webhook with its queue and its deliveries')
    .argument('<webhook>', '', webhookArgument)
    .addOption(customerOption());
  return changing(
    command,
    (id) => (session) => removeWebhook(session, ownerOf(command.opts()), id),
    printWebhook,
  );
}

function rotateCommand(): Command {
  const command = new Command('rotate-secret')
    .description('replace the secret of a webhook; prints the new one, which is shown this once')
    .argument('<webhook>', '', webhookArgument)
    .addOption(customerOption())
    .option(
      '--overlap <duration>',
      'time for which the old one signs as well, such as 24h, or 0',
      graceArgument,
      defaultOverlapMs,
    );
  return changing(
    command,
    (id) => (session) =>
      rotateWebhookSecret(session, ownerOf(command.opts()), id, command.opts<{ overlap: number }>().overlap),
    printWebhook,
  );
}

function printWebhook(view: WebhookView | WebhookWithSecret, json: true | undefined): void {
  if (json) printJson(view);
  else printFields({ ...view, types: view.types?.join(',') ?? 'all' });
}
