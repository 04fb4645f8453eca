/*
 * A strict parser for RFC 9112 that finds the beginning and end of messages. Other parsers may disagree on a message that
 * it calls broken.
 */

export interface Message {
  /** Request line or status line. */
  start: string;
  headers: [name: string, value: string][];
  body: string;
}

export interface Parsed {
  messages: Message[];
  /** Bytes after the last complete message. */
  rest: string;
  /** Why the rest cannot become a message with more bytes, if so. */
  broken?: string;
}

const requestLine = /^[A-Z]+ [\x21-\x7e]+ HTTP\/1\.1$/;
const statusLine = /^HTTP\/1\.1 [1-5]\d\d [\x20-\x7e]*$/;
const headerLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): ?([\t\x20-\x7e\x80-\xff]*)$/;

/** @param bytes as latin1, one character per byte */
export function parseMessages(bytes: string, kind: 'requests' | 'responses'): Parsed {
  const messages: Message[] = [];
  let rest = bytes;
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n');
    if (end === -1) return { messages, rest };
    const [start = '', ...lines] = rest.slice(0, end).split('\r\n');
    if (!(kind === 'requests' ? requestLine : statusLine).test(start)) {
      return { messages, rest, broken: `start line ${JSON.stringify(start)}` };
    }
    const headers: Message['headers'] = [];
    for (const line of lines) {
      const [, name, value] = headerLine.exec(line) ?? [];
      if (name === undefined || value === undefined)
        return { messages, rest, broken: `header ${JSON.stringify(line)}` };
      headers.push([name.toLowerCase(), value]);
    }
    const parsedBody = readBody(rest.slice(end + 4), headers, start);
    if (parsedBody === undefined) return { messages, rest };
    if (typeof parsedBody === 'string') return { messages, rest, broken: parsedBody };
    messages.push({ start, headers, body: parsedBody.body });
    rest = parsedBody.rest;
  }
  return { messages, rest };
}

/** @returns undefined if more bytes are needed, or the reason if the body is invalid */
function readBody(
  text: string,
  headers: Message['headers'],
  start: string,
): { body: string; rest: string } | string | undefined {
  const lengths = valuesOf(headers, 'content-length');
  const codings = valuesOf(headers, 'transfer-encoding');
  if (lengths.length + codings.length > 1) return 'more than one framing header';
  if (/^HTTP\/1\.1 (1\d\d|204|304)/.test(start)) return { body: '', rest: text };
  const [coding] = codings;
  if (coding !== undefined) return coding === 'chunked' ? readChunks(text) : `coding ${coding}`;
  const [length = '0'] = lengths;
  if (!/^(0|[1-9]\d*)$/.test(length)) return `length ${length}`;
  if (text.length < Number(length)) return undefined;
  return { body: text.slice(0, Number(length)), rest: text.slice(Number(length)) };
}

function readChunks(text: string): { body: string; rest: string } | string | undefined {
  let body = '';
  let rest = text;
  for (;;) {
    const end = rest.indexOf('\r\n');
    if (end === -1) return undefined;
    const size = rest.slice(0, end);
    if (!/^[0-9a-f]{1,8}$/i.test(size)) return `chunk size ${JSON.stringify(size)}`;
    const bytes = Number.parseInt(size, 16);
    const after = end + 2 + bytes;
    if (rest.length < after + 2) return undefined;
    if (rest.slice(after, after + 2) !== '\r\n') return 'a chunk does not end with CRLF';
    body += rest.slice(end + 2, after);
    rest = rest.slice(after + 2);
    if (bytes === 0) return { body, rest };
  }
}

export function valuesOf(headers: Message['headers'], wanted: string): string[] {
  return headers.flatMap(([name, value]) => (name === wanted ? [value] : []));
}
