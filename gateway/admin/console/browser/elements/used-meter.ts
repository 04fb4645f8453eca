import { html } from 'lit';

/** Share of a limit from which on it is nearly used up. */
const nearShare = 0.8;

/** Bar of what is used of a limit. Without a known limit, it is full. @param label says the figures in words */
export function usedMeter({ used, limit }: { used: number; limit: number | null }, label: string) {
  const max = limit ?? Math.max(used, 1);
  return html`<meter
    min="0"
    max=${max}
    low=${max * nearShare}
    high=${max - 0.5}
    optimum="0"
    .value=${Math.min(used, max)}
    aria-label=${label}
  ></meter>`;
}
