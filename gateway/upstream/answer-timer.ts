import { wholeAnswerBytes } from './pending-answer.ts';

/** Time limit of an answer; undici's own are renewed by every interim answer and by every byte. */
export interface AnswerTimer {
  /** Begins anew. */
  start(): void;
  stop(): void;
  /** So many bytes were passed on to the client. */
  passed(bytes: number): void;
  /** The client does not read, which is not the upstream's fault. */
  clientWaits(): void;
  clientReads(): void;
}

/**
 * @param timeoutMs for the answer, as far as it is kept back until it is whole, and then for each part of that size
 */
export function createAnswerTimer(timeoutMs: number, onTimeout: () => void): AnswerTimer {
  let timer: NodeJS.Timeout | undefined;
  let passedBytes = 0;
  let reading = true;

  function expire(): void {
    if (!reading || passedBytes >= wholeAnswerBytes) start();
    else onTimeout();
  }

  function start(): void {
    clearTimeout(timer);
    passedBytes = 0;
    timer = setTimeout(expire, timeoutMs);
  }

  return {
    start,
    stop: () => clearTimeout(timer),
    passed(bytes) {
      passedBytes += bytes;
    },
    clientWaits() {
      reading = false;
    },
    clientReads() {
      reading = true;
      start();
    },
  };
}
