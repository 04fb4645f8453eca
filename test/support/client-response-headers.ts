import type { AnswerHeaders } from '../../gateway/http/answer.ts';
import { addClientHeaders } from '../../gateway/upstream/forwarded-headers.ts';

/** Those of the upstream's headers that are passed on, by name. */
export function clientResponseHeaders(headers: Record<string, string | string[] | undefined>) {
  const answer: AnswerHeaders = [];
  addClientHeaders(answer, headers);
  return Object.fromEntries(
    Array.from({ length: answer.length / 2 }, (_, index) => [answer[2 * index], answer[2 * index + 1]]),
  );
}
