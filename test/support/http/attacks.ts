/*
 * Requests that two servers may understand differently: where they end, what they request, or who sends them. Each has
 * a mark in its target; the target of a hidden request contains `smuggled`.
 */

export interface Attack {
  name: string;
  /** Latin1, one character per byte. */
  bytes: string;
  /** Statuses of the responses, in order. */
  expected: number[];
}

interface AttackContext {
  /** Value of Authorization. */
  credential: string;
  /** Unique among all attacks. */
  mark: string;
}

type Make = (disguise: AttackContext) => string;
type Row = [name: string, make: Make, ...expected: number[]];

const head = ({ credential }: AttackContext) => `Host: x\r\nAuthorization: ${credential}\r\n`;

/** A hidden request, which is executed if a server takes the end of a body for a request. */
const hiddenRequest = (disguise: AttackContext) => {
  const pet = JSON.stringify({ name: `smuggled-${disguise.mark}`, categoryId: 1 });
  return `POST /v1/pets?smuggled=${disguise.mark} HTTP/1.1\r\n${head(disguise)}Content-Type: application/json\r\nContent-Length: ${pet.length}\r\n\r\n${pet}`;
};

const pet = '{"name":"Rex","categoryId":1}';

/** A create with these framing headers, and these bytes after its headers. */
const post =
  (lines: string, body: string | Make, version = '1.1'): Make =>
  (disguise) =>
    `POST /v1/pets?mark=${disguise.mark} HTTP/${version}\r\n${head(disguise)}Content-Type: application/json\r\n${lines}\r\n\r\n${typeof body === 'string' ? body : body(disguise)}`;

/** A list request with these header lines. */
const get =
  (lines: string, after: string | Make = ''): Make =>
  (disguise) =>
    `GET /v1/pets?mark=${disguise.mark} HTTP/1.1\r\n${head(disguise)}${lines}\r\n\r\n${typeof after === 'string' ? after : after(disguise)}`;

/** A request line with valid headers. */
const line =
  (start: string | Make): Make =>
  (disguise) =>
    `${typeof start === 'string' ? start : start(disguise)}\r\n${head(disguise)}\r\n`;

const chunked = `${pet.length.toString(16)}\r\n${pet}\r\n0\r\n\r\n`;
const emptyThenSmuggled: Make = (disguise) => `0\r\n\r\n${hiddenRequest(disguise)}`;

const te = 'Transfer-Encoding: chunked';

const lengths: Row[] = [
  ['CL.TE', post(`Content-Length: 200\r\n${te}`, emptyThenSmuggled), 400],
  ['TE.CL', post(`${te}\r\nContent-Length: 4`, (d) => `1\r\nZ\r\n0\r\n\r\n${hiddenRequest(d)}`), 400],
  ['TE.CL with a zero length', post(`${te}\r\nContent-Length: 0`, emptyThenSmuggled), 400],
  ['CL.CL', post('Content-Length: 0\r\nContent-Length: 200', hiddenRequest), 400],
  ['CL.0: a GET with a hidden body', get('Content-Length: 29', pet), 200],
  ['a length with a fraction', post('Content-Length: 29.0', pet), 400],
  ['a length with an exponent', post('Content-Length: 29e0', pet), 400],
  ['two lengths with a space', post('Content-Length: 29 29', pet), 400],
  ['a length in Arabic digits', post('Content-Length: \xd9\xa2\xd9\xa9', pet), 400],
  ['a length of 2^64 and 29', post('Content-Length: 18446744073709551645', pet), 400],
  ['a space before the colon of a length', post('Content-Length : 29', pet), 400],
  ['a length in a folded line', post('Content-Length:\r\n 29', pet), 400],
  ['a length after a bare LF', post('X: y\nContent-Length: 29', pet), 400],
  ['a length with a NUL in its name', post('Content-Length\0: 29', pet), 400],
  ['a length with an underscore in its name', get('Content_Length: 400'), 200],
  ['no length at all', post('X: y', get('Y: z')), 400, 200],
];

const codings: Row[] = [
  ['in mixed case', post('tRANSFER-eNCODING: ChUnKeD', chunked), 201],
  ['after a tab', post('Transfer-Encoding:\tchunked', chunked), 201],
  ...(
    [
      ['identity after chunked', 'Transfer-Encoding: chunked, identity'],
      ['identity before chunked', 'Transfer-Encoding: identity, chunked'],
      ['gzip before chunked', 'Transfer-Encoding: gzip, chunked'],
      ['chunked twice in a list', 'Transfer-Encoding: chunked, chunked'],
      ['another in a second line', `${te}\r\nTransfer-Encoding: x`],
      ['another in the first of two lines', `Transfer-Encoding: x\r\n${te}`],
      ['in quotes', 'Transfer-Encoding: "chunked"'],
      ['with a parameter', 'Transfer-Encoding: chunked;q=1'],
      ['with an empty element after it', 'Transfer-Encoding: chunked,'],
      ['with a vertical tab before it', 'Transfer-Encoding:\x0bchunked'],
      ['with a vertical tab after it', 'Transfer-Encoding: chunked\x0b'],
      ['with a form feed before it', 'Transfer-Encoding:\x0cchunked'],
      ['with a no-break space before it', 'Transfer-Encoding:\xa0chunked'],
      ['with a NUL after it', 'Transfer-Encoding: chunked\0'],
      ['in a folded line', 'Transfer-Encoding:\r\n chunked'],
      ['in a line folded with a tab', 'Transfer-Encoding:\r\n\tchunked'],
      ['folded in the middle', 'Transfer-Encoding: chun\r\n ked'],
      ['with a space before the colon', 'Transfer-Encoding : chunked'],
      ['with a tab before the colon', 'Transfer-Encoding\t: chunked'],
      ['with a space before the name', ` ${te}`],
      ['after a bare LF', `X: y\n${te}`],
      ['after a bare CR', `X: y\r${te}`],
      ['before a bare CR', `${te}\rX: y`],
      ['whose name ends with a NUL', 'Transfer-Encoding\0: chunked'],
      ['whose name ends with a non-ASCII byte', 'Transfer-Encoding\xff: chunked'],
    ] satisfies [string, string][]
  ).map(([name, lines]): Row => [name, post(lines, emptyThenSmuggled), 400]),
  [
    'chunked in HTTP/1.0 with keep-alive',
    post(`${te}\r\nConnection: keep-alive`, emptyThenSmuggled, '1.0'),
    400,
  ],
  ['with an underscore in its name, and no length', get('Transfer_Encoding: chunked'), 200],
  ['named in Connection', post(`${te}\r\nConnection: transfer-encoding`, chunked), 201],
  [
    'a length named in Connection',
    post('Content-Length: 29\r\nConnection: content-length, x-request-id', pet),
    201,
  ],
];

const inChunks = (body: string | Make): Make => post(te, body);
/** A body that one server ends where another one goes on: what follows is a hidden request. */
const hiding = (name: string, body: string, after = ''): Row => [
  name,
  inChunks((d) => body + hiddenRequest(d) + after),
  400,
];
const last = '\r\n0\r\n\r\n';
const chunks: Row[] = [
  ['an extension', inChunks(`1d;a=b\r\n${pet}${last}`), 201],
  ['an extension of 64 kB', inChunks(`1d;a=${'b'.repeat(65_536)}\r\n${pet}${last}`), 413],
  ['a last chunk of many zeros', inChunks(`1d\r\n${pet}\r\n00000\r\n\r\n`), 201],
  [
    'trailers with framing headers',
    inChunks(`1d\r\n${pet}\r\n0\r\nContent-Length: 5\r\nTransfer-Encoding: x\r\n\r\n`),
    400,
  ],
  [
    'trailers with Authorization and Host',
    inChunks(`1d\r\n${pet}\r\n0\r\nAuthorization: x\r\nHost: evil\r\n\r\n`),
    201,
  ],
  hiding('an extension with a quoted line end', `1d;a="\r\n${pet}${last}`, '"\r\n'),
  hiding('an extension that ends with a bare LF', `1d;a\n${pet}${last}`),
  hiding('an extension with a bare CR', `1d;a\rb\r\n${pet}${last}`),
  hiding('a size with a bare LF', `1d\n${pet}${last}`),
  hiding('a signed size', `+1d\r\n${pet}${last}`),
  hiding('an empty size', `\r\n${pet}${last}`),
  hiding('a size of 2^64', `10000000000000000\r\n${pet}${last}`),
  hiding('a size of 2^64 and 29', `1000000000000001d\r\n${pet}${last}`),
  hiding('a size that is too small', `1c\r\n${pet}${last}`),
  hiding('a chunk that ends with two other bytes', `1d\r\n${pet}XX0\r\n\r\n`),
  hiding('a chunk that ends with a bare LF', `1d\r\n${pet}\n0\r\n\r\n`),
  hiding('a last chunk that ends with bare LFs', `1d\r\n${pet}\r\n0\n\n`),
  hiding('a folded trailer', `1d\r\n${pet}\r\n0\r\nX: y\r\n z\r\n\r\n`),
];

const lines: Row[] = [
  ['a bare LF between headers', get('X: y\nZ: z'), 400],
  ['a bare CR between headers', get('X: y\rZ: z'), 400],
  [
    'bare LFs at the end of the headers',
    (d) => `GET /v1/pets?mark=${d.mark} HTTP/1.1\r\n${head(d)}X: y\n\n${hiddenRequest(d)}`,
    400,
  ],
  [
    'bare CRs at the end of the headers',
    (d) => `GET /v1/pets?mark=${d.mark} HTTP/1.1\r\n${head(d)}X: y\r\r${hiddenRequest(d)}`,
    400,
  ],
  ['a DEL in a value', get('X: a\x7fb'), 400],
  ['an escape in a value', get('X: a\x1b[2Jb'), 400],
  ['non-ASCII bytes in a value', get('X: \xc3\xa4\xff'), 200],
  ['non-ASCII bytes in a name', get('X\xe4: y'), 400],
  ['a header without a colon', get('X'), 400],
  ['the same header 300 times', get(Array(300).fill('X: y').join('\r\n')), 431],
  [
    'a length as the 1,100th header',
    post(`${Array(1100).fill('X:').join('\r\n')}\r\nContent-Length: 29`, pet),
    431,
  ],
  ['headers of 100 kB', get(`X: ${'a'.repeat(100_000)}`), 431],
  ['line breaks before the request', (d) => `\r\n\r\n${get('X: y')(d)}`, 200],
  [
    'a request line that ends with a bare LF',
    (d) => `GET /v1/pets?mark=${d.mark} HTTP/1.1\n${head(d)}\r\n`,
    400,
  ],
  ...['a b', 'x/../y', 'user@x', 'x?y', 'x#y', '"x"', '<x>', 'x\\y', '\xe4'].map((host): Row => [
    `the Host ${host}`,
    ({ credential, mark }) =>
      `GET /v1/pets?mark=${mark} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${credential}\r\n\r\n`,
    400,
  ]),
  ['an unsupported Expect and a hidden request', post('Expect: magic\r\nContent-Length: 29', pet), 417],
  [
    'Upgrade with a hidden request',
    get('Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 29', pet),
    200,
  ],
  [
    'Upgrade to h2c',
    get('Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__'),
    200,
  ],
];

const wordsOf = (text: string) => text.trim().split(/\s+/);

const startLines: Row[] = [
  ['absolute form', line((d) => `GET http://x/v1/pets?mark=${d.mark} HTTP/1.1`), 200],
  [
    'absolute form with another host',
    line((d) => `GET http://evil.example/v1/pets?mark=${d.mark} HTTP/1.1`),
    200,
  ],
  ['absolute form with a user', line((d) => `GET http://a:b@x/v1/pets?mark=${d.mark} HTTP/1.1`), 200],
  ['absolute form without a path', line((d) => `GET http://x?mark=${d.mark} HTTP/1.1`), 200],
  ['absolute form of another scheme', line('GET ftp://x/v1/pets HTTP/1.1'), 400],
  ['absolute form with two slashes', line('GET http:////v1/pets HTTP/1.1'), 404],
  ['an unknown scheme with an incomplete host', line('GET p://[/v1/pets HTTP/1.1'), 400],
  ['absolute form with an incomplete host', line((d) => `GET http://[/v1/pets?mark=${d.mark} HTTP/1.1`), 200],
  ['absolute form with an invalid port', line((d) => `GET http://a:b?mark=${d.mark} HTTP/1.1`), 200],
  ['authority form', line('GET x:80 HTTP/1.1'), 400],
  ['asterisk form of a GET', line('GET * HTTP/1.1'), 400],
  ['asterisk form of OPTIONS', line('OPTIONS * HTTP/1.1'), 204],
  ['OPTIONS', line('OPTIONS /v1/pets HTTP/1.1'), 204],
  ['CONNECT', line('CONNECT x:80 HTTP/1.1'), 405],
  ['CONNECT to a path', line('CONNECT /v1/pets HTTP/1.1'), 405],
  ...wordsOf(String.raw`
    //v1/pets /v1/pets/ /../v1/pets /v1%2fpets /v1%2Fpets /v1/pets/%31 /v1/p%65ts /%76%31/pets
    /v1/pets%3fx /v1/pets%23 /v1/pets/% /v1/pets/%zz /v1/pets/%c0%ae%c0%ae /v1/pets;x=1 /v1/pets/1;x
    /v1\pets /V1/PETS /v1/pets.json /v1/pets%20 /v1/pets/+1 /v1/pets/-1 /v1/pets/1.0 /v1/pets/1e0
    /v1/pets/99999999999999999999 /v1/pets/__proto__ /v1/pets/constructor /livez /readyz /metrics
    /v1/pets/%252e%252e%252freadyz /. /docs/../v1/pets
    /docs/assets/../../gateway/platform/config/config.ts
  `).map((target): Row => [`the target ${target}`, line(`GET ${target} HTTP/1.1`), 404]),
  ...wordsOf(String.raw`
    /v1//pets /v1/pets// /v1/pets/..;/pets /v1/..;/v1/pets /v1/x/../pets /v1/./pets /v1/../v1/pets
    /v1/%2e%2e/v1/pets /v1/pets%2f1 /v1/pets%00 /v1/pets/1%00 /v1/\../pets /v1/pets/1/../2
    /v1/pets/%2e%2e%2fpets /v1/pets/..%2f..%2freadyz /v1/pets/..%5c..%5creadyz /v1/pets/..\..\readyz
    /v1/pets/.. /v1/pets/. /v1/pets/%2e
  `).map((target): Row => [`the target ${target}`, line(`GET ${target} HTTP/1.1`), 400]),
  ['a target without a slash', line('GET v1/pets HTTP/1.1'), 400],
  ['backslashes alone', line('GET \\v1\\pets HTTP/1.1'), 400],
  ['a fragment', line((d) => `GET /v1/pets?mark=${d.mark}#/../x HTTP/1.1`), 400],
  ['a space in the target', line('GET /v1/ pets HTTP/1.1'), 400],
  ['a tab in the target', line('GET /v1/\tpets HTTP/1.1'), 400],
  ['a NUL in the target', line('GET /v1/pets\0 HTTP/1.1'), 400],
  ['a DEL in the target', line('GET /v1/pets\x7f HTTP/1.1'), 400],
  ['non-ASCII bytes in the target', line('GET /v1/p\xe4ts HTTP/1.1'), 400],
  ['non-ASCII bytes in the query', line((d) => `GET /v1/pets?mark=${d.mark}&\xe4 HTTP/1.1`), 400],
  ['a bare CR in the target', line((d) => `GET /v1/pets?mark=${d.mark}\rX: HTTP/1.1`), 400],
  ['a bare LF in the target', line((d) => `GET /v1/pets?mark=${d.mark}\nX: HTTP/1.1`), 400],
  ['quotes and braces in the query', line((d) => `GET /v1/pets?mark=${d.mark}&"<{|}>^\` HTTP/1.1`), 200],
  ['two spaces before the target', line((d) => `GET  /v1/pets?mark=${d.mark} HTTP/1.1`), 200],
  ['two spaces after the target', line((d) => `GET /v1/pets?mark=${d.mark}  HTTP/1.1`), 200],
  ['HTTP/0.9', () => 'GET /v1/pets\r\n\r\n', 401],
  ['HTTP/01.1', line('GET /v1/pets HTTP/01.1'), 400],
  ['ICE/1.0', line('GET /v1/pets ICE/1.0'), 400],
  ['RTSP/1.0', line('DESCRIBE /v1/pets RTSP/1.0'), 405],
  ['a method with a NUL', line('GE\0T /v1/pets HTTP/1.1'), 400],
  ['PURGE', line('PURGE /v1/pets HTTP/1.1'), 405],
  ['M-SEARCH', line('M-SEARCH * HTTP/1.1'), 400],
  ['SOURCE of Icecast', line('SOURCE /v1/pets HTTP/1.1'), 405],
  ['a method overridden by a header', get('X-HTTP-Method-Override: DELETE\r\nX-Method: PUT'), 200],
];

export const attackGroups = {
  'a length': lengths,
  'a transfer coding': codings,
  'chunks with': chunks,
  'lines with': lines,
  'a start line with': startLines,
};

/** Every attack, each with its own mark. */
export function makeAttacks(credential: string): Attack[] {
  return Object.entries(attackGroups).flatMap(([group, rows], groupIndex) =>
    rows.map(([name, make, ...expected], index) => ({
      name: `${group} ${name}`,
      bytes: make({ credential, mark: `m${groupIndex}-${index}-` }),
      expected,
    })),
  );
}
