import { html, nothing } from 'lit';
import { router } from '../router.ts';

/** Links to the first and the next page of a list. @param next that of the API */
export function pagingLinks(next: string | null) {
  const { path, query } = router.location;
  const isFirst = !query.has('after');
  if (isFirst && next === null) return nothing;
  const address = (after: string | null) => {
    const changed = new URLSearchParams(query);
    if (after === null) changed.delete('after');
    else changed.set('after', after);
    return changed.size === 0 ? path : `${path}?${changed}`;
  };
  return html`<nav class="actions paging" aria-label="Pages">
    ${isFirst ? nothing : html`<a href=${address(null)}>First page</a>`}
    ${next === null ? nothing : html`<a href=${address(next)}>Next page</a>`}
  </nav>`;
}
