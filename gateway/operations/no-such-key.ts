import { InvalidOperation } from './invalid-operation.ts';

/** No API key has this id. */
export class NoSuchKey extends InvalidOperation {
  override name = 'NoSuchKey';
}
