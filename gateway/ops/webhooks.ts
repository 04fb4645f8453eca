import { Command, Option } from 'commander';
import type { ChangingSession, Session } from '../operations/session.ts';
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
import type { WebhookOwner } from '../redis/redis-keys.ts';
import { fieldColumns, listing, type ListLayout } from './list-output.ts';
import { asOption, graceArgument, jsonOption, nameArgument, type ChangeOptions } from './options.ts';
import { printFields, printJson } from './output.ts';
import { withChanges } from './redis-session.ts';
import { deliveriesCommand, replayCommand, testCommand, thresholdsCommand } from './webhook-events.ts';
import {
  customerOption,
  ownerOf,
  urlArgument,
  webhookArgument,
  webhookRules,
  type OwnerOption,
} from './webhook-options.ts';

interface WebhookOptions extends ChangeOptions, OwnerOption {
  types?: readonly string[] | 'all';
  description?: string;
}

export function webhooksCommand(): Command {
  return new Command('webhooks')
    .description('addresses that events are sent to: of operators for all customers, or of one customer')
    .addCommand(listCommand())
    .addCommand(addCommand())
    .addCommand(setCommand())
    .addCommand(changing('remove', 'delete a webhook with its queue and its deliveries', removeWebhook))
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
  return addFacts(command)
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (url: string, options: WebhookOptions) => {
      const wanted = { url, types: typesOf(options), description: options.description };
      const change = (session: ChangingSession) =>
        addWebhook(session, ownerOf(options), wanted, webhookRules());
      printWebhook(await withChanges(options.as, change), options.json);
    });
}

function setCommand(): Command {
  const command = new Command('set')
    .description('change a webhook, or switch it on or off; --on also sends to one that is disabled again')
    .argument('<webhook>', '', webhookArgument)
    .addOption(customerOption())
    .option('--url <url>', 'another address', urlArgument)
    .addOption(new Option('--on', 'send events to it').conflicts('off'))
    .option('--off', 'send nothing to it; what happens meanwhile it gets by a replay only');
  return addFacts(command)
    .addOption(asOption())
    .addOption(jsonOption())
    .action(
      async (
        id: string,
        options: WebhookOptions & { url?: string; on?: true; off?: true },
        command: Command,
      ) => {
        const { url, on, off, description, as, json } = options;
        const enabled = on ?? (off === true ? false : undefined);
        const change = { url, types: typesOf(options), description, enabled };
        if (Object.values(change).every((value) => value === undefined)) {
          command.error('error: nothing to set: see ops webhooks set --help');
        }
        printWebhook(
          await withChanges(as, (session) =>
            changeWebhook(session, ownerOf(options), id, change, webhookRules()),
          ),
          json,
        );
      },
    );
}

/** A command that takes nothing but a webhook. */
function changing(
  name: string,
  description: string,
  change: (session: Session, owner: WebhookOwner, id: string) => Promise<WebhookView>,
): Command {
  return new Command(name)
    .description(description)
    .argument('<webhook>', '', webhookArgument)
    .addOption(customerOption())
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (id: string, options: ChangeOptions & OwnerOption) => {
      printWebhook(
        await withChanges(options.as, (session) => change(session, ownerOf(options), id)),
        options.json,
      );
    });
}

function rotateCommand(): Command {
  return new Command('rotate-secret')
    .description('replace the secret of a webhook; prints the new one, which is shown this once')
    .argument('<webhook>', '', webhookArgument)
    .addOption(customerOption())
    .option(
      '--overlap <duration>',
      'time for which the old one signs as well, such as 24h, or 0',
      graceArgument,
      defaultOverlapMs,
    )
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (id: string, options: ChangeOptions & OwnerOption & { overlap: number }) => {
      const change = (session: ChangingSession) =>
        rotateWebhookSecret(session, ownerOf(options), id, options.overlap);
      printWebhook(await withChanges(options.as, change), options.json);
    });
}

function printWebhook(view: WebhookView | WebhookWithSecret, json: true | undefined): void {
  if (json) printJson(view);
  else printFields({ ...view, types: view.types?.join(',') ?? 'all' });
}
