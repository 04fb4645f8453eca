import type { usageBody } from '../../quota/usage-body.ts';
import { element, textTable } from './elements.ts';
import { localTime } from './local-time.ts';

export type Usage = ReturnType<typeof usageBody>;

/** Which key it is, until when it works, what leads or has led to a ban, and its last refused requests. */
export function usageFacts({ key, banReason, strikes, strikesToBan, refusals }: Usage): Element[] {
  const end = key.expiresAt === null ? 'never' : localTime(key.expiresAt);
  const facts: [name: string, value: string][] = [
    ['Key', `${key.name} (${key.id})`],
    ['Ends', key.replacedBy === null ? end : `${end}, replaced by ${key.replacedBy}`],
  ];
  if (key.scopes !== undefined) facts.push(['Scopes', key.scopes.join(' ')]);
  if (banReason !== null) facts.push(['Reason of the ban', banReason]);
  if (strikes > 0 && strikesToBan !== null) {
    facts.push(['Refused requests that count towards a ban', `${strikes} of ${strikesToBan}`]);
  }
  return [
    element('h2', {}, 'This key'),
    element(
      'dl',
      { class: 'fields' },
      ...facts.flatMap(([name, value]) => [element('dt', {}, name), element('dd', {}, value)]),
    ),
    ...(refusals.length === 0 ? [] : [element('h2', {}, 'Refused requests'), refusalTable(refusals)]),
  ];
}

const refusalTable = (refusals: Usage['refusals']) =>
  textTable(
    'Refused requests',
    ['from', 'to', 'refused', 'reason'],
    refusals.map(({ from, to, refused, reason }) => [
      localTime(from),
      localTime(to),
      refused.toLocaleString('en'),
      reason,
    ]),
  );
