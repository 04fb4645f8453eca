import { Command } from 'commander';
import { unknownCommand } from './usage-error.ts';

/** `help`, which shows the help of the command that its arguments name. */
export function helpCommand(): Command {
  return new Command('help')
    .description('display help for command')
    .argument('[command...]')
    .helpOption(false)
    .action((names: string[], _options: unknown, { parent }: Command) => {
      let shown = parent;
      for (const name of names) {
        const child = shown?.commands.find((command) => command.name() === name);
        if (shown !== null && child === undefined) unknownCommand(shown, name);
        shown = child ?? null;
      }
      shown?.help();
    });
}
