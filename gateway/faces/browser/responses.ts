/** Responses of the operators' API and of the portal's, as their schemas declare them. Only types: a browser loads none of that code. */
export type { WindowView } from '../../control/customers/customer-limits.ts';

/** Of a list, one page. */
export interface Page<T> {
  items: T[];
  next: string | null;
}

/** Of a change, with doubts whether it survives a failure of Redis. */
export type Changed<T = object> = T & { warnings: string[] };
