import { Command } from 'commander';
import { windowTexts } from '../../control/customers/customer-limits.ts';
import { InvalidOperation } from '../../control/invalid-operation.ts';
import { findExactly, findKeyId, listKeys } from '../../control/keys/find-keys.ts';
import { readKeyDetail, type KeyRow } from '../../control/keys/key-view.ts';
import { assertSearchable } from '../../control/keys/pasted-key.ts';
import type { Session } from '../../control/session.ts';
import { keyPrefix } from '../../platform/config/key-prefix.ts';
import { readKeyInput } from './key-input.ts';
import { jsonOption, keyTextArgument, type JsonOption } from './options.ts';
import { printFields, printJson } from './output.ts';
import { withRedis } from './redis-session.ts';

export function keysShowCommand(): Command {
  return new Command('show')
    .description('one key, with its use, strikes and ban, and what its next request gets')
    .argument(
      '[key]',
      'id, SHA-256, or hint such as api_ab12; without it, the key itself is read from standard input',
      keyTextArgument,
    )
    .addOption(jsonOption())
    .action(async (text: string | undefined, { json }: JsonOption) => {
      const input = text === undefined ? await readKeyInput() : '';
      const detail = await withRedis(async (session) =>
        readKeyDetail(
          session,
          text === undefined ? await findKeyId(input, session) : await idOf(text, session),
        ),
      );
      if (json) return printJson(detail);
      const { windows, ban, strikes, strikesToBan, now: _now, next, ...view } = detail;
      printFields({
        ...view,
        scopes: view.scopes ?? 'all',
        ...windowTexts(windows),
        strikes: describeStrikes(strikes, strikesToBan),
        ban: ban === null ? null : `${ban.reason}; ends at ${ban.endsAt ?? 'no set time'}`,
        next: next.message,
      });
    });
}

function describeStrikes(strikes: number, toBan: number | null): string {
  return toBan === null
    ? `${strikes}; the ban policy is off or invalid, see: ops policy show`
    : `${strikes} of ${toBan}`;
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
  const found: KeyRow[] = [];
  for await (const page of listKeys(session, { search: text })) {
    found.push(...page);
    // Two tell already that the hint is not enough.
    if (found.length > 1) break;
  }
  const [only, another] = found;
  if (only === undefined) throw new InvalidOperation(`no key has the hint ${text}`);
  if (another !== undefined)
    throw new InvalidOperation(`several keys have the hint ${text}; see: ops keys list --search ${text}`);
  return only.id;
}
