import { Command } from 'commander';
import { loadConfig } from '../config/config.ts';
import { portalLink, publicOrigin } from '../config/console-url.ts';
import { byText, customerTexts, textNames, textsIn, type CustomerTexts } from '../limits/customer-texts.ts';
import { windowNames, type ByWindow } from '../limits/windows.ts';
import {
  changeCustomer,
  createCustomer,
  listCustomers,
  readCustomerDetail,
  removeCustomer,
  resumeCustomer,
  suspendCustomer,
  type CustomerView,
} from '../operations/customers.ts';
import type { KeyRow } from '../operations/key-view.ts';
import { endPortalSessions, makePortalCode } from '../operations/portal-sessions.ts';
import { resetDay } from '../operations/reset-day.ts';
import type { ChangingSession } from '../operations/session.ts';
import { changing } from './changing.ts';
import { addLimitOptions, givenLimits, limitArgument, limitOr, type NoLimit } from './limit-options.ts';
import { fieldColumns, fieldLayout, listing, printList, type ListLayout } from './list-output.ts';
import {
  customerArgument,
  jsonOption,
  nameArgument,
  type ChangeOptions,
  type JsonOption,
} from './options.ts';
import { print, printError, printFields, printJson, printResult } from './output.ts';
import { withRedis } from './redis-session.ts';
import { required } from './usage-error.ts';

export function customersCommand(): Command {
  return new Command('customers')
    .description('customers, whose API keys share a plan, limits and what is used of them')
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(createCommand())
    .addCommand(setCommand())
    .addCommand(linkCommand())
    .addCommand(signOutCommand())
    .addCommand(resetUsageCommand())
    .addCommand(
      stateCommand('suspend', 'refuse all keys of a customer from their next request on', suspendCustomer),
    )
    .addCommand(stateCommand('resume', 'end a suspension', resumeCustomer))
    .addCommand(
      stateCommand(
        'remove',
        'delete a customer whose keys have all ended; its record of use stays',
        removeCustomer,
      ),
    );
}

const customerLayout: ListLayout<CustomerView> = {
  ...fieldLayout<CustomerView>({
    ID: 'id',
    NAME: 'name',
    PLAN: 'plan',
    MINUTE: 'minute',
    DAY: 'day',
    STATE: 'state',
    KEYS: 'keys',
    CREATED: 'createdAt',
  }),
  csv: {
    ...fieldColumns(
      'id',
      'name',
      'plan',
      ...windowNames,
      'state',
      'suspendedAt',
      ...textNames,
      'createdAt',
      'keys',
      'rev',
    ),
  },
};

const keysLayout = fieldLayout<KeyRow>({
  ID: 'id',
  KEY: 'hint',
  NAME: 'name',
  STATE: 'state',
  CREATED: 'createdAt',
  EXPIRES: 'expiresAt',
});

function linkCommand(): Command {
  const command = new Command('link')
    .description('print a link to the portal of a customer; it works once, within five minutes')
    .argument('<customer>', '', customerArgument);
  return changing(
    command,
    (id) => (session) => makePortalCode(session, id),
    ({ code, ...made }, json) => {
      const config = loadConfig(process.env);
      if (config.publicUrl === undefined)
        printError('warning: PUBLIC_URL is not set, so the address is a guess');
      printResult({ link: portalLink(publicOrigin(config), code), ...made }, json);
    },
  );
}

function signOutCommand(): Command {
  const command = new Command('sign-out')
    .description('end all sessions of a customer in the portal, and its links that were not used yet')
    .argument('<customer>', '', customerArgument);
  return changing(command, (id) => (session) => endPortalSessions(session, id));
}

function resetUsageCommand(): Command {
  const command = new Command('reset-usage')
    .description(
      'give a customer its UTC day back: the day limit counts from 0 again, the record of use keeps all',
    )
    .argument('<customer>', '', customerArgument);
  return changing(command, (id) => async (session) => ({ id, setBack: await resetDay(session, id) }));
}

function listCommand(): Command {
  const command = new Command('list')
    .description('customers, oldest first')
    .option('--plan <plan>', 'customers on a plan')
    .option('--name <text>', 'customers with the text in their name, contact, reference or id', nameArgument);
  return listing(command, customerLayout, (session) => {
    const { plan, name: search } = command.opts<{ plan?: string; name?: string }>();
    return listCustomers(session, { plan, search });
  });
}

function showCommand(): Command {
  return new Command('show')
    .description('one customer, with its keys')
    .argument('<customer>', '', customerArgument)
    .addOption(jsonOption())
    .action(async (id: string, { json }: JsonOption) => {
      const detail = await withRedis((session) => readCustomerDetail(session, id));
      if (json) return printJson(detail);
      const { items, own: _own, limits: _limits, windows: _windows, now: _now, next, ...view } = detail;
      printCustomer(view, { next: next.message });
      if (items.length === 0) return;
      await print('');
      await printList('table', keysLayout, items);
    });
}

function addTextOptions(command: Command): Command {
  for (const name of textNames) command.option(`--${name} <text>`, customerTexts[name].meaning, nameArgument);
  return command;
}

interface CreateOptions extends CustomerTexts, ByWindow<number> {
  plan?: string;
  name?: string;
}

function createCommand(): Command {
  const command = new Command('create')
    .description('make a customer without a key; ops keys issue makes one with a key')
    .option('--plan <plan>', 'free, pro, business, enterprise or a plan of your own')
    .option('--name <name>', 'name of the customer', nameArgument);
  addTextOptions(
    addLimitOptions(command, (each) => `own limit ${each}, instead of the plan’s`, limitArgument),
  );
  return changing(
    command,
    () => {
      const options = command.opts<CreateOptions>();
      const wanted = {
        plan: required(options.plan, '--plan <plan>', command),
        name: required(options.name, '--name <name>', command),
        ...textsIn(options),
        ...givenLimits(options),
      };
      return (session) => createCustomer(session, wanted);
    },
    printChanged,
  );
}

interface SetOptions extends ChangeOptions, CustomerTexts, ByWindow<number | NoLimit> {
  plan?: string;
  name?: string;
}

function setCommand(): Command {
  const command: Command = new Command('set')
    .description(
      'change a customer, from the next request of any of its keys on; the text "none" removes one',
    )
    .argument('<customer>', '', customerArgument)
    .option('--plan <plan>', 'another plan')
    .option('--name <name>', 'name of the customer', nameArgument);
  addTextOptions(
    addLimitOptions(command, (each) => `own limit ${each}, or "plan" for that of the plan`, limitOr('plan')),
  );
  return changing(
    command,
    (id) => {
      const { as: _as, json: _json, ...options } = command.opts<SetOptions>();
      if (Object.keys(options).length === 0)
        command.error('error: nothing to set: see ops customers set --help');
      const { plan, name } = options;
      const texts = byText((text) => orNone(options[text]));
      const change = { plan, name, ...texts, ...givenLimits(options) };
      return (session) => changeCustomer(session, id, change);
    },
    printChanged,
  );
}

/** Null removes a text. */
const orNone = (text: string | undefined) => (text === 'none' ? null : text);

/** A command that takes nothing but a customer. */
function stateCommand(
  name: string,
  description: string,
  change: (session: ChangingSession, id: string) => Promise<CustomerView>,
): Command {
  const command = new Command(name).description(description).argument('<customer>', '', customerArgument);
  return changing(command, (id) => (session) => change(session, id), printChanged);
}

function printChanged(view: CustomerView, json: true | undefined): void {
  if (json) printJson(view);
  else printCustomer(view);
}

function printCustomer(view: CustomerView, more: { next?: string } = {}): void {
  printFields({ ...view, ...more });
}
