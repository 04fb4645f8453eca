import type { OutgoingHttpHeader, ServerResponse } from 'node:http';

/**
 * Names and values of an answer's headers in turn, as they are gathered on the way. Node's setHeader would look each up
 * by its lower-case name, which for a dozen of them costs more than most steps of the journey.
 */
export type AnswerHeaders = OutgoingHttpHeader[];

/** Adds headers; one that is there already is replaced. */
export function putHeaders(headers: AnswerHeaders, added: Readonly<Record<string, string>>): void {
  for (const name in added) {
    const value = added[name] ?? '';
    const index = headers.indexOf(name);
    if (index === -1) headers.push(name, value);
    else headers[index + 1] = value;
  }
}

/** Up to this size, copying a body costs less than handing two pieces to the system. */
const copiedBytes = 16 * 1024;

/**
 * Ends an answer of which nothing has been sent but perhaps its head. Node writes a string together with the head, and a
 * buffer after it; of strings, Latin-1 is what it writes fastest, so bytes travel as characters.
 */
export function endTogether(res: ServerResponse, body: Buffer): void {
  if (body.length <= copiedBytes) res.end(body.toString('latin1'), 'latin1');
  else res.end(body);
}

/** Sends an answer as a whole. To HEAD, Node leaves the body out. */
export function sendJson(res: ServerResponse, status: number, headers: AnswerHeaders, json: string): void {
  endTogether(res, beginJson(res, status, headers, json));
}

/** @returns the body, which is still to be sent */
export function beginJson(res: ServerResponse, status: number, headers: AnswerHeaders, json: string): Buffer {
  const body = Buffer.from(json);
  const ofBody = ['Content-Type', 'application/json; charset=utf-8', 'Content-Length', String(body.length)];
  res.writeHead(status, [...headers, ...ofBody]);
  return body;
}
