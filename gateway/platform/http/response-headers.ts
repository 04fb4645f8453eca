import type { OutgoingHttpHeader } from 'node:http';

/**
 * Headers of a response, in the order in which they were first set. Names compare without regard to case (RFC 9110
 * section 5.1). Node's own setHeader builds an object keyed by lower-case names, which for a dozen headers costs more
 * than most steps of the journey; this list is handed to writeHead as it is.
 */
export class ResponseHeaders {
  /** Names and values in turn. */
  readonly #raw: OutgoingHttpHeader[];

  constructor(raw: readonly OutgoingHttpHeader[] = []) {
    this.#raw = [...raw];
  }

  /** Adds a header, or replaces its value. */
  set(name: string, value: OutgoingHttpHeader): void {
    const index = this.#indexOf(name);
    if (index === undefined) this.#raw.push(name, value);
    else this.#raw[index + 1] = value;
  }

  /** Adds a header, or a further element to the list that is its value (RFC 9110 section 5.3). */
  append(name: string, value: string): void {
    const index = this.#indexOf(name);
    if (index === undefined) this.#raw.push(name, value);
    else this.#raw[index + 1] = `${[this.#raw[index + 1]].flat().join(', ')}, ${value}`;
  }

  setAll(headers: Readonly<Record<string, string>>): void {
    for (const name in headers) this.set(name, headers[name] ?? '');
  }

  has(name: string): boolean {
    return this.#indexOf(name) !== undefined;
  }

  copy(): ResponseHeaders {
    return new ResponseHeaders(this.#raw);
  }

  /** Names and values in turn, as Node's writeHead takes them. The caller must not change the list. */
  toRaw(): OutgoingHttpHeader[] {
    return this.#raw;
  }

  /** Index of a name. Looks at every other entry: a value, such as a client's request id, may read like a name. */
  #indexOf(name: string): number | undefined {
    for (let index = 0; index < this.#raw.length; index += 2) {
      if (isSameName(this.#raw[index], name)) return index;
    }
    return undefined;
  }
}

function isSameName(known: OutgoingHttpHeader | undefined, name: string): boolean {
  if (known === name) return true;
  return (
    typeof known === 'string' && known.length === name.length && known.toLowerCase() === name.toLowerCase()
  );
}
