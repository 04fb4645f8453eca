import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';

/** Limit of wrong codes. One process serves the admin port, so its memory is enough. */
export interface WrongCodeLimit {
  /** Counts an attempt before its outcome is known, so that concurrent attempts are counted too. */
  charge(address: string): Promise<{ allowed: true } | { allowed: false; retryAfterSeconds: number }>;
  /** Takes back an attempt whose code was right. */
  refund(address: string): Promise<void>;
}

const windowSeconds = 60;
const maxPerAddress = 10;
const maxAltogether = 100;
const everybody = 'everybody';

export function createWrongCodeLimit(): WrongCodeLimit {
  const perAddress = new RateLimiterMemory({ points: maxPerAddress, duration: windowSeconds });
  const altogether = new RateLimiterMemory({ points: maxAltogether, duration: windowSeconds });
  return {
    async charge(address) {
      try {
        // An address that is over its own limit uses up nothing of the common one.
        await perAddress.consume(address);
        await altogether.consume(everybody);
        return { allowed: true };
      } catch (refusal) {
        if (!(refusal instanceof RateLimiterRes)) throw refusal;
        return { allowed: false, retryAfterSeconds: Math.max(1, Math.ceil(refusal.msBeforeNext / 1000)) };
      }
    },
    async refund(address) {
      await perAddress.reward(address);
      await altogether.reward(everybody);
    },
  };
}
