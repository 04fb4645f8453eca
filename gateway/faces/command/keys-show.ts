import { Command } from 'commander';
import { InvalidOperation } from '../../control/invalid-operation.ts';
import { findExactly, findKeyId } from '../../control/keys/find-key.ts';
import { listKeys } from '../../control/keys/key-list.ts';
import { recordView } from '../../control/keys/key-view.ts';
import { assertSearchable } from '../../control/keys/pasted-key.ts';
import { showStoredKey } from '../../control/keys/stored-keys.ts';
import type { Session } from '../../control/session.ts';
import { keyPrefix } from '../../platform/config/key-prefix.ts';
import { readKeyUse } from '../../quota/key-use.ts';
import { readKeyInput } from './key-input.ts';
import { jsonOption, keyTextArgument, type JsonOption } from './options.ts';
import { printFields, printJson } from './output.ts';
import { redisNow, withRedis } from './redis-session.ts';

export function keysShowCommand(): Command {
  return new Command('show')
    .description('one key, with its last use')
    .argument(
      '[key]',
      'id, SHA-256, or hint such as api_ab12; without it, the key itself is read from standard input',
      keyTextArgument,
    )
    .addOption(jsonOption())
    .action(async (text: string | undefined, { json }: JsonOption) => {
      const input = text === undefined ? await readKeyInput() : '';
      const { record, use } = await withRedis(async (session) => {
        const id = text === undefined ? await findKeyId(input, session) : await idOf(text, session);
        const { place, record } = await showStoredKey(session.redis, id);
        return { record, use: await readKeyUse(session, place) };
      });
      const view = recordView(record, redisNow());
      if (json) return printJson({ ...view, use });
      printFields({ ...view, ...use });
    });
}

/**
 * @returns the id of the one key that a text means; an unknown id stays as it is
 * @throws InvalidOperation if there is none with the hint or the SHA-256, or there are several
 */
async function idOf(text: string, session: Session): Promise<string> {
  assertSearchable(text);
  if (!text.startsWith(keyPrefix())) {
    const found = await findExactly(text, session.redis);
    return found?.record.id ?? text;
  }
  const [only, another] = (await Array.fromAsync(listKeys(session, { search: text }, { limit: 2 }))).flat();
  if (only === undefined) throw new InvalidOperation(`no key has the hint ${text}`);
  if (another !== undefined)
    throw new InvalidOperation(`several keys have the hint ${text}; see: ops keys list --search ${text}`);
  return only.id;
}
