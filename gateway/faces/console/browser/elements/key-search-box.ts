import { html } from 'lit';
import { choice } from '../../../browser/elements/fields.ts';
import { keyPath } from '../key.ts';
import { fetchPlans, planOptions } from '../plan-names.ts';
import type { KeyPlan } from '../responses.ts';
import { router } from '../router.ts';
import { SearchBox } from './search-box.ts';

const states: [state: string, label: string][] = [
  ['', 'Any state'],
  ['valid', 'Active'],
  ['banned', 'Banned'],
  ['expired', 'Expired'],
  ['revoked', 'Revoked'],
];
const expiries: [days: string, label: string][] = [
  ['', 'Any expiry'],
  ['7', 'Within 7 days'],
  ['30', 'Within 30 days'],
  ['90', 'Within 90 days'],
];

/** Search for keys, with its filters, in the query of the address. */
class KeySearchBox extends SearchBox {
  override readonly placeholder = 'Name, id, hint, or a whole API key';
  plans: KeyPlan[] = [];

  constructor() {
    super();
    void fetchPlans().then(
      (plans) => (this.plans = plans),
      () => {},
    );
  }

  pathOf(id: string) {
    return keyPath(id);
  }

  override filters() {
    return html`${select('Plan', 'plan', [['', 'Any plan'], ...planOptions(this.plans)])}
    ${select('State', 'state', states)} ${select('Expiry', 'expires', expiries)}`;
  }
}

/** @param name parameter of the address */
const select = (label: string, name: string, options: Parameters<typeof choice>[2]) =>
  choice(label, undefined, options, {
    value: router.location.query.get(name) ?? '',
    onChange: (value) => router.setQuery({ [name]: value, after: undefined }, { replace: false }),
  });

customElements.define('key-search-box', KeySearchBox);
