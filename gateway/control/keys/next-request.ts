import { z } from 'zod';
import { byWindow, hasWindow, refusingWindow, windowNames, windowOf, windows } from '../../limits/windows.ts';
import type { WindowView, WindowViews } from '../customers/customer-limits.ts';

/** Why the next request of a key that is not valid is refused. */
const reasonsForGood = ['revoked', 'expired', 'suspended'] as const;
const reasons = z.enum([...reasonsForGood, 'ban', 'no_limits', ...windowNames]);

type RefusalForGood = (typeof reasonsForGood)[number];

/** What the next request of a key gets, with a sentence for people. */
export const nextRequestSchema = z
  .object({
    message: z.string().meta({ examples: ['refused until 14:32:10 UTC: 60 of 60 used this minute'] }),
  })
  .and(
    z.discriminatedUnion('served', [
      z.object({ served: z.literal(true) }),
      z.object({
        served: z.literal(false),
        reason: reasons,
        until: z.iso.datetime().nullable().describe('Null if it does not end by itself'),
        why: z.string().describe('The message without the time, such as "60 of 60 used this minute"'),
      }),
    ]),
  )
  .meta({ id: 'NextRequest', description: 'What the next request of a key gets' });

export type NextRequest = z.infer<typeof nextRequestSchema>;

/** What decides on the next request of a valid key. */
export interface ServingState {
  ban: { endsAt: string; reason: string } | null;
  windows: WindowViews;
}

/** Decides as consume.lua does: a ban before the windows; of several full windows, the one that ends last. */
export function nextRequest({ ban, windows: views }: ServingState): NextRequest {
  if (ban !== null) return refusal('ban', `banned (${ban.reason})`, ban.endsAt);
  const unknown = windowNames.find((name) => views[name]?.limit === null);
  if (unknown !== undefined || !hasWindow(views)) {
    return refusal(
      'no_limits',
      `no ${unknown ?? 'valid'} limit is known for this key, neither its own nor its plan's`,
      null,
    );
  }
  const refusing = refusingWindow(
    byWindow((name) => {
      const view = views[name];
      return view && { remaining: view.remaining ?? 0, resetMs: Date.parse(view.resetsAt) };
    }),
  );
  const refused = refusing && views[refusing];
  if (refusing !== undefined && refused !== undefined) {
    return refusal(refusing, `${used(refused)} ${windowOf(refusing).current}`, refused.resetsAt);
  }
  const uses = windows.flatMap(({ name, current }) => {
    const view = views[name];
    return view === undefined ? [] : [`${used(view)} ${current}`];
  });
  return { served: true, message: `served: ${uses.join(', ')}` };
}

/** What the next request of a key that is not valid gets. */
export const refusedForGood = (state: RefusalForGood, since = 'an unknown time'): NextRequest =>
  refusal(state, `${endings[state]} ${since}`, null);

const endings: Readonly<Record<RefusalForGood, string>> = {
  revoked: 'revoked at',
  expired: 'expired at',
  suspended: 'its customer is suspended since',
};

function refusal(reason: z.infer<typeof reasons>, why: string, until: string | null): NextRequest {
  const end = until === null ? '' : ` until ${clockTime(until)}`;
  return { served: false, reason, message: `refused${end}: ${why}`, until, why };
}

const used = (window: WindowView) => `${grouped(window.used)} of ${grouped(window.limit ?? 0)} used`;

function grouped(count: number): string {
  return count.toLocaleString('en');
}

/** Time as HH:MM:SS UTC. */
function clockTime(iso: string): string {
  return `${iso.slice(11, 19)} UTC`;
}
