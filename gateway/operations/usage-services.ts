import type { ServiceUse } from '../quota/usage-days.ts';
import type { Session } from './session.ts';
import { daysOfMonth } from './usage-months.ts';
import { readUseByCustomer } from './usage-record.ts';

/** Use of one customer and service in one UTC month. */
export interface CustomerServiceUse extends ServiceUse {
  /** YYYY-MM */
  month: string;
  /** Id of the customer. */
  id: string;
  name: string;
}

/**
 * The use of all customers by service, in pages, by creation of the customer and then the most units first.
 * @param month as YYYY-MM
 * @param onProgress called with the number of customers that are done, of those in the index
 */
export async function* readUseByService(
  session: Pick<Session, 'redis' | 'now'>,
  month: string,
  onProgress: (customers: number) => void,
): AsyncGenerator<CustomerServiceUse[]> {
  for await (const { customers, done } of readUseByCustomer(session, daysOfMonth(month))) {
    yield customers.flatMap(({ rows: [first], services }) =>
      first === undefined
        ? []
        : (services.get(month) ?? []).map((use) =>
            Object.assign({ month, id: first.id, name: first.name }, use),
          ),
    );
    onProgress(done);
  }
}
