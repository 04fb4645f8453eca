import { z } from 'zod';
import { resetDay } from '../../operations/reset-day.ts';
import type { ChangingSession, Session } from '../../operations/session.ts';
import { findCustomerId } from '../../operations/stored-customers.ts';
import { readLastDays } from '../../operations/usage-record.ts';
import { dayUsageSchema } from '../../quota/usage-days.ts';
import { countInput } from './query-input.ts';
import { listOf, withWarnings } from './results.ts';
import { route, type Api, type Call, type Operation, type Route } from './route.ts';

interface LimitedRoutesOptions<Result> {
  path: string;
  /** Whose limits they are, as in "use of a customer". */
  owner: string;
  operationIds: Record<'resetDay' | 'usage', string>;
  changed: Pick<Operation<never, Result>, 'responds' | 'result'>;
  change: (
    call: Call<unknown>,
    api: Api,
    operate: (session: ChangingSession) => Promise<unknown>,
  ) => Promise<Result>;
}

/** Changes what a path names, and shows it as it is then. */
export const changeAndShow =
  <Result extends object>(
    show: (session: Session, id: string) => Promise<Result>,
  ): LimitedRoutesOptions<Result & { warnings: string[] }>['change'] =>
  async ({ req, target }, api, operate) =>
    withWarnings(
      await api.change(req, async (session) => {
        await operate(session);
        return show(session, target);
      }),
    );

/** Routes about limits and what is used of them, which a customer has, and each of its keys with it. */
export function limitedRoutes<Result>(options: LimitedRoutesOptions<Result>): Route[] {
  const { path, owner, operationIds: ids, changed, change } = options;
  return [
    route.delete(`${path}/day`, {
      operationId: ids.resetDay,
      summary: `Set the UTC day of ${owner} back: its day limit counts from 0 again`,
      description: 'The record of use keeps what was served, and a month limit counts it.',
      ...changed,
      handle: (call, api) => change(call, api, (session) => resetDay(session, call.target)),
    }),
    route.get(`${path}/usage`, {
      operationId: ids.usage,
      summary: `Use of ${owner} on each of the last UTC days, oldest first, today included`,
      input: z.strictObject({ days: countInput(400, 30) }),
      responds: 'Each day, also those without use',
      result: listOf(dayUsageSchema),
      handle: async ({ target, input }, { read }) => {
        const items = await read(async (session) =>
          readLastDays(session, await findCustomerId(session.redis, target), input.days),
        );
        return { items, next: null };
      },
    }),
  ];
}
