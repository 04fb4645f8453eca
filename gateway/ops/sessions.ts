import { Command } from 'commander';
import { createConsoleSessions, type ListedConsoleSession } from '../operations/console-sessions.ts';
import { InvalidOperation } from '../operations/invalid-operation.ts';
import { changing } from './changing.ts';
import { confirm, yesOption, type YesOption } from './confirm.ts';
import { fieldLayout, listing } from './list-output.ts';
import { idArgument } from './options.ts';
import { print, printJson } from './output.ts';
import { withRedis } from './redis-session.ts';

const layout = fieldLayout<ListedConsoleSession>({
  ID: 'id',
  NAME: 'name',
  ROLE: 'role',
  CREATED: 'createdAt',
  'LAST SEEN': 'lastSeenAt',
  EXPIRES: 'expiresAt',
  'GRANTED BY': 'grantedBy',
});

export function sessionsCommand(): Command {
  return new Command('sessions')
    .description('people who are signed in to the console')
    .addCommand(
      listing(new Command('list').description('sessions, oldest first'), layout, (session) =>
        createConsoleSessions(session).list(),
      ),
    )
    .addCommand(endCommand());
}

interface EndOptions extends YesOption {
  all?: true;
}

function endCommand(): Command {
  const command = new Command('end')
    .description('sign a person out, or everybody, at once')
    .argument('[session]', 'id of a session', idArgument)
    .option('--all', 'end all sessions')
    .addOption(yesOption());
  return changing(
    command,
    async (id) => {
      const { all = false, yes } = command.opts<EndOptions>();
      if ((id === '') !== all) {
        throw new InvalidOperation('give either the id of a session, see: ops sessions list, or --all');
      }
      await confirm(question(id, await withRedis((session) => createConsoleSessions(session).list())), yes);
      return async (session) => {
        const sessions = createConsoleSessions(session);
        return all ? sessions.endAll() : [await sessions.end(id)];
      };
    },
    (ended, json) =>
      json
        ? printJson({ ended })
        : print(`ended ${ended.length} ${ended.length === 1 ? 'session' : 'sessions'}\n`),
  );
}

/** @throws InvalidOperation if there is no such session */
function question(id: string, sessions: readonly ListedConsoleSession[]): string {
  if (id === '') return `End all ${sessions.length} sessions of the console?`;
  const session = sessions.find((listed) => listed.id === id);
  if (session === undefined) throw new InvalidOperation(`there is no session ${id}; see: ops sessions list`);
  return `End the session of ${session.name} (${session.role})?`;
}
