import { Command } from 'commander';
import {
  blockAddress,
  listAddressBlocks,
  unblockAddress,
  type BlockView,
} from '../operations/address-blocks.ts';
import { readBusiestAddresses, type BusyAddress } from '../operations/busiest-addresses.ts';
import { changing } from './changing.ts';
import { fieldLayout, listing } from './list-output.ts';
import { countArgument, durationArgument, idArgument, nameArgument } from './options.ts';
import { printError } from './output.ts';
import { lengthAndReason } from './usage-error.ts';

export function addressesCommand(): Command {
  return new Command('addresses')
    .description('addresses of clients: the most refused ones, and blocks')
    .addCommand(topCommand())
    .addCommand(blockCommand())
    .addCommand(unblockCommand())
    .addCommand(blockedCommand());
}

const busiestLayout = fieldLayout<BusyAddress>({
  ADDRESS: 'address',
  'REFUSED/MIN': 'refused',
  'WITHOUT KEY': 'unauthenticated',
  'OVER LIMIT': 'limited',
  BLOCKED: 'blocked',
  'BLOCKED UNTIL': 'blockedUntil',
});

function topCommand(): Command {
  const command = new Command('top')
    .description(
      'addresses with the most refused requests in the last minute; IPv6 networks as the limit counts them',
    )
    .option('--count <n>', 'number of addresses', countArgument(1000), 15);
  return listing(command, busiestLayout, (session) =>
    readBusiestAddresses(session, command.opts<{ count: number }>().count),
  );
}

const blockLayout = fieldLayout<BlockView>({ NETWORK: 'network', ENDS: 'endsAt', REASON: 'reason' });

function blockedCommand(): Command {
  const command = new Command('blocked').description('active blocks, soonest to end first');
  return listing(command, blockLayout, async (session) => {
    const { blocks, issues } = await listAddressBlocks(session);
    for (const issue of issues) printError(`warning: ${issue}; gateways keep the last valid block`);
    return blocks;
  });
}

function blockCommand(): Command {
  const command = new Command('block')
    .description('refuse all requests of an address or network within a second, with or without a key')
    .argument('<network>', 'such as 203.0.113.7, 203.0.113.0/24 or 2001:db8::/56', idArgument)
    .option('--for <duration>', 'length, such as 15m, 24h or 7d', durationArgument)
    .option('--reason <text>', 'reason, for operators; clients do not read it', nameArgument);
  return changing(command, (network) => {
    const { durationMs, reason } = lengthAndReason(command);
    return (session) => blockAddress(session, network, durationMs, reason);
  });
}

function unblockCommand(): Command {
  const command = new Command('unblock')
    .description('end a block within a second')
    .argument('<network>', 'as it was blocked', idArgument);
  return changing(command, (network) => (session) => unblockAddress(session, network));
}
