import { InvalidOperation } from './invalid-operation.ts';
import { nearestName } from './nearest-name.ts';

/** @returns the error for a plan that does not exist, with the name of the nearest one that does */
export function unknownPlan(name: string, names: readonly string[], advice: string): InvalidOperation {
  const near = nearestName(name, names);
  const hint = near === undefined ? '' : ` did you mean "${near}"?`;
  return new InvalidOperation(`there is no plan named ${JSON.stringify(name)};${hint} ${advice}`);
}
