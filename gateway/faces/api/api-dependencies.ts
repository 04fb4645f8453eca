import type { Request } from 'express';
import type { ChangingSession, Session } from '../../control/session.ts';

export interface Changed<T> {
  result: T;
  /** Doubts whether the change survives a failure of Redis, in words. */
  warnings: string[];
}

/** Dependencies of the API's routers. */
export interface ApiDependencies {
  /** Runs an operation that only reads. @throws ApiError service_unavailable if Redis is unavailable */
  read<T>(use: (session: Session) => Promise<T>): Promise<T>;
  /**
   * Runs an operation that changes something, audited under the name of the request's person, and waits until the
   * change is on Redis' disk and replicas.
   * @throws ApiError service_unavailable if Redis is unavailable; OperationFailure as changeRedis does
   */
  change<T>(req: Request, use: (session: ChangingSession) => Promise<T>): Promise<Changed<T>>;
  /** Networks that webhooks may lead to although they are not public. */
  webhookNetworks: readonly string[];
}
