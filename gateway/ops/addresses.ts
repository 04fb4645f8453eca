import { Command } from 'commander';
import { createAddressBlockStore, type BlockView } from '../operations/address-block-store.ts';
import { readBusiestAddresses, type BusyAddress } from '../operations/busiest-addresses.ts';
import { assertNotApiKey } from '../operations/pasted-key.ts';
import {
  fieldColumns,
  listOptions,
  onePage,
  outputFormat,
  printList,
  type ListLayout,
  type ListOptions,
} from './list-output.ts';
import {
  asOption,
  countArgument,
  durationArgument,
  jsonOption,
  nameArgument,
  type ChangeOptions,
} from './options.ts';
import { printError, printFields, printJson } from './output.ts';
import { withChanges, withRedis } from './redis-session.ts';
import { required } from './usage-error.ts';

export function addressesCommand(): Command {
  return new Command('addresses')
    .description('addresses of clients: the most refused ones, and blocks')
    .addCommand(topCommand())
    .addCommand(blockCommand())
    .addCommand(unblockCommand())
    .addCommand(blockedCommand());
}

const busiestLayout: ListLayout<BusyAddress> = {
  headings: ['ADDRESS', 'REFUSED/MIN', 'WITHOUT KEY', 'OVER LIMIT', 'BLOCKED', 'BLOCKED UNTIL'],
  row: ({ address, refused, unauthenticated, limited, blocked, blockedUntil }) => [
    address,
    refused,
    unauthenticated,
    limited,
    blocked,
    blockedUntil ?? '-',
  ],
  csv: fieldColumns('address', 'refused', 'unauthenticated', 'limited', 'blocked', 'blockedUntil'),
};

function topCommand(): Command {
  const [output, json] = listOptions();
  return new Command('top')
    .description(
      'addresses with the most refused requests in the last minute; IPv6 networks as the limit counts them',
    )
    .option('--count <n>', 'number of addresses', countArgument(1000), 15)
    .addOption(output)
    .addOption(json)
    .action(async ({ count, ...options }: { count: number } & ListOptions) => {
      const format = outputFormat(options);
      await withRedis(async (session) =>
        printList(format, busiestLayout, onePage(await readBusiestAddresses(session, count))),
      );
    });
}

const blockLayout: ListLayout<BlockView> = {
  headings: ['NETWORK', 'ENDS', 'REASON'],
  row: ({ network, endsAt, reason }) => [network, endsAt, reason],
  csv: fieldColumns('network', 'endsAt', 'reason'),
};

function blockedCommand(): Command {
  const [output, json] = listOptions();
  return new Command('blocked')
    .description('active blocks, soonest to end first')
    .addOption(output)
    .addOption(json)
    .action(async (options: ListOptions) => {
      const format = outputFormat(options);
      await withRedis(async (session) => {
        const { blocks, issues } = await createAddressBlockStore(session).list();
        for (const issue of issues) printError(`warning: ${issue}; gateways keep the last valid block`);
        return printList(format, blockLayout, onePage(blocks));
      });
    });
}

interface BlockOptions extends ChangeOptions {
  for?: number;
  reason?: string;
}

function blockCommand(): Command {
  return new Command('block')
    .description('refuse all requests of an address or network within a second, with or without a key')
    .argument('<network>', 'such as 203.0.113.7, 203.0.113.0/24 or 2001:db8::/56', networkArgument)
    .option('--for <duration>', 'length, such as 15m, 24h or 7d', durationArgument)
    .option('--reason <text>', 'reason, for operators; clients do not read it', nameArgument)
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (network: string, options: BlockOptions, command: Command) => {
      const { as, json } = options;
      const durationMs = required(options.for, '--for <duration>', command);
      const reason = required(options.reason, '--reason <text>', command);
      printBlock(
        await withChanges(as, (session) =>
          createAddressBlockStore(session).block(network, durationMs, reason),
        ),
        json,
      );
    });
}

function unblockCommand(): Command {
  return new Command('unblock')
    .description('end a block within a second')
    .argument('<network>', 'as it was blocked', networkArgument)
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (network: string, { as, json }: ChangeOptions) => {
      printBlock(await withChanges(as, (session) => createAddressBlockStore(session).unblock(network)), json);
    });
}

/** @throws InvalidOperation for an API key, which the message would repeat */
function networkArgument(text: string): string {
  assertNotApiKey(text);
  return text;
}

function printBlock(block: BlockView, json: true | undefined): void {
  if (json) printJson(block);
  else printFields({ ...block });
}
