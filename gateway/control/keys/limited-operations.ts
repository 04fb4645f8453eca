import { z } from 'zod';
import { byText } from '../../limits/customer-texts.ts';
import { byWindow, eachExactly } from '../../limits/windows.ts';
import { dayUsageSchema } from '../../quota/usage-days.ts';
import { resetDay } from '../customers/reset-day.ts';
import { findCustomerId } from '../customers/stored-customers.ts';
import { countInput, listOf } from '../list-schemas.ts';
import { changeAndShow, list, type ChangeOperation, type CommandForm, type Operation } from '../operation.ts';
import type { Session } from '../session.ts';
import { readLastDays } from '../usage/usage-record.ts';

interface UsageOperationsOptions<Shown extends object> {
  path: `/${string}`;
  /** Whose limits they are, as in "use of a customer". */
  owner: string;
  operationIds: Record<'resetDay' | 'usage', string>;
  shown: {
    responds: string;
    result: z.ZodType<Shown>;
    resultId: string;
    shows: (session: Session, target: string) => Promise<Shown>;
  };
  command?: CommandForm;
}

/** Operations about what is used of limits, which a customer has, and each of its keys with it. */
export function usageOperationsOf<Shown extends object>(options: UsageOperationsOptions<Shown>): Operation[] {
  const { path, owner, operationIds: ids, shown, command } = options;
  const reset: ChangeOperation = changeAndShow({
    operationId: ids.resetDay,
    http: `DELETE ${path}/day`,
    ...(command && { command }),
    summary: `Set the UTC day of ${owner} back: its day limit counts from 0 again`,
    description: 'The record of use keeps what was served, and a month limit counts it.',
    ...shown,
    run: async (session, { target: id }) => ({ id, setBack: await resetDay(session, id) }),
  });
  return [
    reset,
    list({
      operationId: ids.usage,
      http: `GET ${path}/usage`,
      summary: `Use of ${owner} on each of the last UTC days, oldest first, today included`,
      input: z.strictObject({ days: countInput(400, 30) }),
      responds: 'Each day, also those without use',
      result: listOf(dayUsageSchema),
      run: async (session, { target, input: { days } }) =>
        readLastDays(session, await findCustomerId(session.redis, target), days),
    }),
  ];
}

const plan = 'free, pro, business, enterprise or a plan of your own';
const texts = byText(() => ({ nothing: 'none' }));

/** Of a command that makes what has limits. */
export const newLimitOptions = {
  plan: { says: plan },
  ...byWindow((name) => ({ says: `own limit ${eachExactly(name)}, instead of the plan’s` })),
};

/** Of a command that changes it. */
export const limitOptions = {
  plan: { says: 'another plan' },
  ...texts,
  ...byWindow((name) => ({
    says: `own limit ${eachExactly(name)}, or "plan" for that of the plan`,
    nothing: 'plan',
  })),
};
