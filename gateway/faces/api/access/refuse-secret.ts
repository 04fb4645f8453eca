import type { Request } from 'express';
import { ApiError } from '../api-error.ts';
import { tooManyRequests, type MinuteLimit } from './minute-limit.ts';

/** Refuses a request with a wrong code or token. @throws ApiError the given one, or too_many_requests */
export type RefuseSecret = (req: Request, code: 'invalid_code' | 'invalid_token') => Promise<never>;

interface RefuseSecretDependencies {
  chargeWrongSecret: MinuteLimit;
  clientAddress: (req: Request) => string;
}

export function createRefuseSecret({
  chargeWrongSecret,
  clientAddress,
}: RefuseSecretDependencies): RefuseSecret {
  return async function refuseSecret(req, code) {
    const waitSeconds = await chargeWrongSecret(clientAddress(req));
    if (waitSeconds === undefined) {
      throw new ApiError(code, code === 'invalid_token' ? { headers: { 'WWW-Authenticate': 'Bearer' } } : {});
    }
    throw tooManyRequests('Too many wrong codes or tokens', waitSeconds);
  };
}
