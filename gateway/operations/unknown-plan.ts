import { InvalidOperation } from './invalid-operation.ts';
import { nearestName } from './nearest-name.ts';
import { assertNotApiKey } from './pasted-key.ts';

/**
 * @param names names of plans that exist
 * @param advice what to do if the nearest of them was not meant
 * @returns the error for a plan that does not exist
 * @throws InvalidOperation for an API key, which the error would repeat
 */
export function unknownPlan(name: string, names: readonly string[], advice?: string): InvalidOperation {
  assertNotApiKey(name);
  const near = nearestName(name, names);
  const question = near === undefined ? [] : [`did you mean "${near}"?`];
  const hints = [
    ...question,
    advice ?? (near === undefined ? `see: ops plans list (${listPlans(names)})` : ''),
  ];
  return new InvalidOperation(`there is no plan named ${JSON.stringify(name)}; ${hints.join(' ').trim()}`);
}

const maxListed = 20;

/** Names of plans for a message: each once, and not all if there are many. */
export function listPlans(names: readonly string[]): string {
  const distinct = [...new Set(names)];
  const more = distinct.length > maxListed ? ', …' : '';
  return distinct.slice(0, maxListed).join(', ') + more;
}
