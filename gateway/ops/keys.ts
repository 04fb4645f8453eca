import type { Command } from 'commander';
import { keysListCommand } from './keys-list.ts';
import { keysShowCommand } from './keys-show.ts';
import { keysExportCommand, keysImportCommand } from './keys-transfer.ts';
import { nounCommand } from './operation-command.ts';

export const keysCommand = (): Command =>
  nounCommand(
    'keys',
    'API keys of clients',
    keysListCommand(),
    keysShowCommand(),
    keysExportCommand(),
    keysImportCommand(),
  );
