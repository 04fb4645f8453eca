import { fileURLToPath } from 'node:url';
import { Argument, Command } from 'commander';
import { loadConfig } from '../config/config.ts';
import { filesMark } from './complete.ts';
import { print } from './output.ts';

const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];

/** Prints a script that defines the function `ops`, and completes its arguments with `ops __complete`. */
export function completionCommand(): Command {
  return new Command('completion')
    .description('a script that defines ops for a shell, with completion of commands, options, plans and ids')
    .addArgument(new Argument('<shell>', 'bash, zsh or fish').choices(shells))
    .addHelpText(
      'after',
      '\nbash and zsh: eval "$(npm run --silent ops -- completion bash)"\nfish:         npm run --silent ops -- completion fish | source',
    )
    .action(async (shell: Shell) => {
      const { dataDirectory } = loadConfig(process.env);
      const main = fileURLToPath(new URL('main.ts', import.meta.url));
      await print(scripts[shell]({ node: process.execPath, main, dataDirectory }));
    });
}

/** Absolute paths, so that the function works in any directory. Node's compile cache halves the time of a start. */
interface Paths {
  node: string;
  main: string;
  /** Where the private Redis is looked for, unless DATA_DIR is set. */
  dataDirectory: string;
}

const scripts: Readonly<Record<Shell, (paths: Paths) => string>> = {
  bash: (paths) => `${posixFunction(paths)}
_ops_complete() {
  local value description
  COMPREPLY=()
  while IFS=$'\\t' read -r value description; do
    if [ "$value" = '${filesMark}' ]; then
      compopt -o default 2>/dev/null
      return
    fi
    COMPREPLY+=("$value")
  done < <(ops __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _ops_complete ops
`,
  zsh: (paths) => `${posixFunction(paths)}
_ops_complete() {
  local -a candidates
  local line
  for line in "\${(@f)$(ops __complete -- "\${(@)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)}"; do
    [[ $line == '${filesMark}'* ]] && { _files; return }
    [[ -n $line ]] && candidates+=("\${line%%$'\\t'*}:\${line#*$'\\t'}")
  done
  _describe ops candidates
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }
compdef _ops_complete ops
`,
  fish: ({ node, main, dataDirectory }) => `function ops --description 'keys, plans and bans of the gateway'
  set -q XDG_CACHE_HOME; and set -lx NODE_COMPILE_CACHE $XDG_CACHE_HOME/animal-store-ops
  or set -lx NODE_COMPILE_CACHE ~/.cache/animal-store-ops
  set -q DATA_DIR; or set -lx DATA_DIR ${fishQuoted(dataDirectory)}
  ${fishQuoted(node)} ${fishQuoted(main)} $argv
end
function __ops_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -l lines (ops __complete -- $words[2..-1] "$current" 2>/dev/null)
  if test "$lines" = '${filesMark}'
    __fish_complete_path "$current"
  else
    printf '%s\\n' $lines
  end
end
complete --command ops --no-files --arguments '(__ops_complete)'
`,
};

/** An alias of that name would come before the function. */
function posixFunction({ node, main, dataDirectory }: Paths): string {
  return `unalias ops 2>/dev/null
function ops {
  local directory=${posixQuoted(dataDirectory)}
  NODE_COMPILE_CACHE="\${XDG_CACHE_HOME:-$HOME/.cache}/animal-store-ops" DATA_DIR="\${DATA_DIR-$directory}" \\
    ${posixQuoted(node)} ${posixQuoted(main)} "$@"
}`;
}

function posixQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll(/[\\']/g, String.raw`\$&`)}'`;
}
