import type { Request, RequestHandler } from 'express';
import { findPortalSession, portalPerson, type PortalSession } from '../../control/access/portal-sessions.ts';
import type { PublicAddress } from '../../platform/http/addresses.ts';
import type { AddressLimit } from '../../quota/address-limit.ts';
import { isReading } from '../api/access/caller.ts';
import { createMinuteLimit, tooManyRequests } from '../api/access/minute-limit.ts';
import { createPageAccess } from '../api/access/page-access.ts';
import { ApiError } from '../api/api-error.ts';
import type { ConsoleRedis } from '../api/console-redis.ts';

export type PortalAccess = ReturnType<typeof createPortalAccess>;

interface PortalAccessDependencies {
  redis: () => Promise<Pick<ConsoleRedis, 'read'>>;
  publicAddress: PublicAddress;
  addressLimit: Pick<AddressLimit, 'charge' | 'peek'>;
}

/** Requests of one customer a minute and process: more than the page of several people asks for. */
const maxRequests = 240;
/** Each change waits for Redis' disk. */
const maxChanges = 30;

const tooMany = 'Too many requests';

/** What the errors of the API for operators say to a customer. */
export const customerMessages = {
  no_session: 'There is no session, or it has ended. Open the portal again from where you came.',
  invalid_code:
    'This link was used before, or is older than five minutes. Open the portal again from where you came.',
};

/** Decides who may use the API of the portal. */
export function createPortalAccess(dependencies: PortalAccessDependencies) {
  const { redis, publicAddress, addressLimit } = dependencies;
  const chargeRequest = createMinuteLimit(maxRequests, tooMany);
  const chargeChange = createMinuteLimit(maxChanges, tooMany);

  /** Counts a wrong code or session against the address. @throws ApiError with a code, or too_many_requests */
  async function refuse(req: Request, code: keyof typeof customerMessages): Promise<never> {
    const { allowed, window } = await addressLimit.charge(req.ip ?? '');
    if (allowed) throw new ApiError(code, { message: customerMessages[code] });
    throw tooManyRequests(tooMany, window.resetMs);
  }

  const page = createPageAccess<PortalSession>({
    owner: 'portal',
    cookiePath: '/portal',
    apiPath: '/portal/api',
    originsOf: (req) => [URL.parse(publicAddress.baseUrl(req))?.origin],
    advice: 'Behind a proxy, PUBLIC_URL has to be set.',
    find: async (token) => (await redis()).read((session) => findPortalSession(session, token)),
    callerOf: ({ session: { customerId: customer }, token }) => ({
      who: portalPerson(customer),
      secret: token,
      customer,
    }),
    refuse: (req) => refuse(req, 'no_session'),
  });

  /** A browser has one session: of an address over its limit, several are not looked up. */
  const limitLookUps: RequestHandler = async (req, _res, next) => {
    const isOne = page.cookie.read(req).length <= 1;
    if (isOne || (await addressLimit.peek(req.ip ?? '')).remaining > 0) return next();
    return refuse(req, 'no_session');
  };

  const limitRequests: RequestHandler = async (req, _res, next) => {
    const { customerId } = page.sessionOf(req).session;
    if (!isReading(req)) await chargeChange(customerId);
    await chargeRequest(customerId);
    next();
  };

  /** Checks of what takes access away, which no limit refuses; any other request has further ones. */
  const guardOfEnd: readonly RequestHandler[] = [
    ...page.open,
    limitLookUps,
    page.requireSession,
    page.requireCsrfToken,
  ];
  return { ...page, guard: [...guardOfEnd, limitRequests], guardOfEnd, refuse };
}
