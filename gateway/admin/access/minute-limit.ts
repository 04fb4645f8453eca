import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';

/** Counts a wrong code of an address. @returns seconds to wait, if it is over its limit */
export type WrongCodeLimit = (address: string) => Promise<number | undefined>;

const windowSeconds = 60;
const maxPerAddress = 10;

/**
 * Creates the limit of wrong codes. A right code works however many wrong ones came before it, also from the same address:
 * nobody guesses 128 bits, and people behind one proxy share an address. One process serves the admin port, so its memory
 * is enough.
 */
export function createWrongCodeLimit(): WrongCodeLimit {
  const perAddress = new RateLimiterMemory({ points: maxPerAddress, duration: windowSeconds });
  return async function chargeWrongCode(address) {
    try {
      await perAddress.consume(address);
      return undefined;
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal;
      return Math.max(1, Math.ceil(refusal.msBeforeNext / 1000));
    }
  };
}
