import { seededRandom } from '../seeded-random.ts';

/** Tokens that often break parsers of HTTP and JSON. */
const tokens = (
  '\r\n~\n~\r~\r\n\r\n~\0~\t~ ~\x0b~\x7f~\xff~:~,~;~"~\\~%~%00~%2e%2e%2f~#~?~&~/~//~/../~*~0~-1~+1~' +
  '0x10~1e400~99999999999999999999~Content-Length: 5\r\n~Content-Length: 0\r\n~' +
  'Transfer-Encoding: chunked\r\n~Transfer-Encoding: identity\r\n~Connection: close\r\n~' +
  'Connection: keep-alive\r\n~Connection: Upgrade\r\nUpgrade: x\r\n~Expect: 100-continue\r\n~' +
  'Host: y\r\n~Authorization: Bearer x\r\n~HTTP/1.0~HTTP/1.1~HTTP/2.0~GET /v1/pets HTTP/1.1\r\n~' +
  'POST /v1/pets HTTP/1.1\r\n~OPTIONS * HTTP/1.1\r\n~CONNECT x:1 HTTP/1.1\r\n~0\r\n\r\n~' +
  '5\r\nabcde\r\n~[~{~]~}~"__proto__":~\\ud800~null~limit=~cursor=~status='
).split('~');

/**
 * Mutates requests: cuts, repeats, splices and changes parts of them at random.
 * @param corpus latin1, one character per byte
 * @returns a function that returns the next mutation; the seed determines the sequence
 */
export function createMutations(seed: number, corpus: readonly string[]): () => string {
  const random = seededRandom(seed);
  const randomBelow = (limit: number) => Math.floor(random() * limit);
  const pick = (list: readonly string[]) => list[randomBelow(list.length)] ?? '';
  const randomByte = () => String.fromCharCode(randomBelow(256));

  const mutations: ((text: string, at: number, length: number) => string)[] = [
    (text, at) => text.slice(0, at) + randomByte() + text.slice(at + 1),
    (text, at) => text.slice(0, at) + flipBit(text, at) + text.slice(at + 1),
    (text, at) => text.slice(0, at) + randomByte() + text.slice(at),
    (text, at, length) => text.slice(0, at) + text.slice(at + length),
    (text, at, length) => text.slice(0, at + length) + text.slice(at),
    (text, at) => text.slice(0, at) + pick(tokens) + text.slice(at),
    (text, at, length) => text.slice(0, at) + pick(tokens) + text.slice(at + length),
    (text, at) => text.slice(0, at) + spliced(pick(corpus)),
    (text, at, length) =>
      text.slice(0, at) + text.slice(at, at + length).toUpperCase() + text.slice(at + length),
    (text, at) => text.slice(0, at),
    (text, at, length) =>
      text.slice(0, at) + text.slice(at, at + length).repeat(randomBelow(20)) + text.slice(at + length),
    (text) => text + pick(corpus),
  ];

  const flipBit = (text: string, at: number) =>
    String.fromCharCode(((text.codePointAt(at) ?? 0) ^ (1 << randomBelow(8))) & 0xff);
  const spliced = (text: string) => text.slice(randomBelow(text.length));

  return function nextMutation() {
    let text = pick(corpus);
    for (let left = 1 + randomBelow(4); left > 0; left -= 1) {
      const mutate = mutations[randomBelow(mutations.length)];
      text = mutate?.(text, randomBelow(text.length + 1), 1 + randomBelow(random() < 0.5 ? 4 : 60)) ?? text;
    }
    return text;
  };
}
