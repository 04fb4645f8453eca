import { InvalidOperation } from './invalid-operation.ts';

/** There is no API key with an id. */
export class UnknownKey extends InvalidOperation {
  /** @param hint what may be the reason, with a comma before it */
  constructor(id: string, hint = '') {
    super(`there is no API key with the id ${JSON.stringify(id)}${hint}`);
  }
}
