import type { Change, PublishedEvent, RecordedRequest } from '../history.ts';
import type { View } from '../view.ts';
import { bansOf } from './keys.ts';
import type { Find } from './promise.ts';

export const publishedIn = (view: View, type: string): readonly PublishedEvent[] =>
  view.history.events?.published.filter((event) => event.type === type) ?? [];
const text = (event: PublishedEvent, field: string) => String(event.data[field]);
const isByGateway = ({ data }: PublishedEvent) => data['reason'] === null;
export const found = (message: string) => [{ message, requests: [] }];

/** What an event is about: of these, each is told once. */
function subjectOf(event: PublishedEvent): string {
  const { id, type, owner } = event;
  switch (type) {
    case 'quota.threshold':
      return [type, owner, ...['window', 'windowStart', 'threshold'].map((field) => text(event, field))].join(
        ' ',
      );
    case 'key.created':
    case 'key.rotated':
    case 'key.revoked':
      return `${type} ${text(event, 'keyId')}`;
    case 'customer.suspended':
      return `${type} ${owner} ${text(event, 'suspendedAt')}`;
    default:
      return id;
  }
}

/** Nothing is told by two events, and no key has two bans by gateways at the same time. */
export const eventsOnce: Find = (view) => {
  const bySubject = Map.groupBy(view.history.events?.published ?? [], subjectOf);
  const repeated = Array.from(bySubject).flatMap(([subject, same]) =>
    same.length > 1 ? found(`${same.length} events: ${subject}`) : [],
  );
  const bans = Map.groupBy(publishedIn(view, 'ban.began').filter(isByGateway), (event) =>
    text(event, 'keyId'),
  );
  const ends = [...view.changes('lift'), ...view.changes('ban')];
  return Array.from(bans).reduce((all, [key, same]) => {
    const inOrder = same.toSorted((one, other) => one.atMs - other.atMs);
    return inOrder.reduce((sum, event, index) => {
      const before = inOrder[index - 1];
      const isDuring = before !== undefined && event.atMs < Date.parse(text(before, 'endsAt'));
      const isReplaced = ends.some(
        (end) => end.key === key && end.endMs >= (before?.atMs ?? 0) && end.startMs <= event.atMs,
      );
      return isDuring && !isReplaced ? sum.concat(found(`${key}: two bans at the same time`)) : sum;
    }, all);
  }, repeated);
};

interface Told {
  type: string;
  changes: (view: View) => readonly (Change & { subject: string })[];
  subject: (event: PublishedEvent) => string;
  /** Whether a change that is made again is told again. */
  again?: true;
}

const ofKey = (event: PublishedEvent) => text(event, 'keyId');
const withKey = <Made extends Change & { key: string }>(made: readonly Made[]) =>
  made.map((change) => Object.assign({ subject: change.key }, change));

/** What operators and customers change, and its events. */
const told: readonly Told[] = [
  {
    type: 'key.created',
    subject: ofKey,
    changes: (view) =>
      view
        .changes('create')
        .flatMap((change) => (change.key === undefined ? [] : [{ subject: change.key, ...change }])),
  },
  { type: 'key.revoked', subject: ofKey, changes: (view) => withKey(view.changes('revoke')) },
  { type: 'key.rotated', subject: ofKey, changes: (view) => withKey(view.changes('expire')) },
  { type: 'ban.began', subject: ofKey, again: true, changes: (view) => withKey(view.changes('ban')) },
  {
    type: 'customer.suspended',
    subject: ({ owner }) => owner,
    changes: (view) =>
      view.changes('suspend').map((change) => Object.assign({ subject: change.owner }, change)),
  },
];

/** Each change that was confirmed has its event, and each event its change. */
export const changesAreEvents: Find = (view) => {
  if (view.history.events === undefined) return [];
  // Keys of which nobody was told: they were created, and may have been revoked at once.
  const unknown = Map.groupBy(
    view.changes('create').filter(({ key }) => key === undefined),
    ({ owner }) => owner,
  );
  const known = new Set(view.changes('create').map(({ key }) => key));
  return told.flatMap(({ type, changes, subject, again }) => {
    const events = publishedIn(view, type).filter((event) => type !== 'ban.began' || !isByGateway(event));
    const ofUnknown = events.filter((event) => 'keyId' in event.data && !known.has(ofKey(event)));
    const tooMany = Array.from(Map.groupBy(ofUnknown, ({ owner }) => owner)).flatMap(([owner, same]) =>
      same.length > (unknown.get(owner)?.length ?? 0)
        ? found(`${owner}: ${type} of a key that nobody has made`)
        : [],
    );
    const byEvent = Map.groupBy(events, subject);
    const byChange = Map.groupBy(changes(view), (change) => change.subject);
    const wrong = [...new Set([...byEvent.keys(), ...byChange.keys()])].flatMap((about) => {
      if (ofUnknown.some((event) => subject(event) === about)) return [];
      const all = byChange.get(about) ?? [];
      const made = all.filter(({ outcome }) => outcome === 'made').length;
      const [least, most] = again ? [made, all.length] : [Math.min(1, made), Math.min(1, all.length)];
      const count = byEvent.get(about)?.length ?? 0;
      return count < least || count > most
        ? found(`${about}: ${count} events ${type}, for ${made} to ${all.length} changes`)
        : [];
    });
    return tooMany.concat(wrong);
  });
};

/** Events of plans follow the changes: from one to the next, and to the last one. */
export const plansAreTold: Find = (view) => {
  if (view.history.events === undefined) return [];
  return Object.entries(view.history.owners).flatMap(([owner, { plan: first }]) => {
    const events = publishedIn(view, 'plan.changed').filter((event) => event.owner === owner);
    const made = view.changes('set limits').filter((change) => change.owner === owner);
    let plan = first;
    for (const event of events) {
      if (text(event, 'from') !== plan)
        return found(`${owner}: from ${text(event, 'from')}, but it was on ${plan}`);
      plan = text(event, 'to');
    }
    if (made.some(({ outcome }) => outcome === 'unknown')) return [];
    const plans = [first, ...made.map(({ limits }) => limits.plan)];
    const changed = plans.slice(1).filter((next, index) => next !== plans[index]).length;
    return changed === events.length
      ? []
      : found(`${owner}: ${events.length} events plan.changed for ${changed} changes`);
  });
};

/** A ban by a gateway is told, and what is told is a ban. */
export const bansAreTold: Find = (view) => {
  if (view.history.events === undefined) return [];
  const events = publishedIn(view, 'ban.began').filter(isByGateway);
  return Array.from(view.byKey.keys()).flatMap((key) => {
    const ends = events
      .filter((event) => ofKey(event) === key)
      .map((event) => Date.parse(text(event, 'endsAt')));
    return bansOf(view, key).flatMap(({ first, end }) =>
      ends.some((endMs) => endMs >= end.startMs - endSlackMs && endMs <= end.endMs + endSlackMs) ||
      mayBeLostWith(view, first)
        ? []
        : [{ message: `${key}: a ban without an event`, requests: [first] }],
    );
  });
};

const endSlackMs = 1500;
/** An event waits in a process for Redis, at most for an outage. */
const waitMs = 10_000;

/** Whether the process that found an event about a request may have been killed before it was published. */
export function mayBeLostWith(
  { history }: View,
  { startMs, endMs }: Pick<RecordedRequest, 'startMs' | 'endMs'>,
): boolean {
  return history.lives.some(
    (life) => life.killed && life.endMs >= startMs - waitMs && life.endMs <= endMs + waitMs,
  );
}
