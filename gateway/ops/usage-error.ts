import type { CommanderError } from 'commander';

/** What is wrong with the arguments, on one line, with what was probably meant. Commander suggests only some of it. */
export function describeUsageError({ code, message }: CommanderError): string {
  const text = message.replace(/^error: /, '');
  const isSuggested = text.includes('(Did you mean');
  if (code === 'commander.unknownCommand' && !isSuggested) return `${text}; see: ops --help`;
  if (code === 'commander.unknownOption' && !isSuggested) {
    const isLong = /^unknown option '-[a-z]{2}/i.test(text);
    return `${text}; ${isLong ? 'options begin with two dashes' : 'see --help'}`;
  }
  return text;
}
