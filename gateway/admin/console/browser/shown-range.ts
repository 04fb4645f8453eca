/** Unix seconds. */
export type ChartRange = { from: number; to: number };

/** A range that ends now. */
export type Preset = { last: string; label: string; seconds: number; refreshMs: number };

const [hour, day] = [3600, 86_400];
const defaultPreset: Preset = { last: '1h', label: 'Last hour', seconds: hour, refreshMs: 10_000 };
export const presets: readonly Preset[] = [
  defaultPreset,
  { last: '6h', label: '6 hours', seconds: 6 * hour, refreshMs: 60_000 },
  { last: '24h', label: '24 hours', seconds: day, refreshMs: 60_000 },
  { last: '7d', label: '7 days', seconds: 7 * day, refreshMs: 300_000 },
];

/** The range in an address, `search` as the API understands it. */
export type ShownRange = { search: string; refreshMs: number } & (
  ({ isFree: true } & ChartRange) | ({ isFree: false } & Preset)
);

/** The range of an address: `from` and `to`, or else `last`. */
export function rangeOf(query: URLSearchParams): ShownRange {
  const [from, to] = [query.get('from'), query.get('to')].map((text) => Date.parse(text ?? '') / 1000);
  if (from !== undefined && to !== undefined && from < to) {
    return {
      isFree: true,
      from,
      to,
      refreshMs: 60_000,
      search: String(new URLSearchParams(freeQuery({ from, to }))),
    };
  }
  const preset = presets.find(({ last }) => last === query.get('last')) ?? defaultPreset;
  return { isFree: false, ...preset, search: `last=${preset.last}` };
}

/** The query of an address for a range that ends now. */
export const presetQuery = ({ last }: Preset) => ({
  from: '',
  to: '',
  last: last === defaultPreset.last ? '' : last,
});

/** The query of an address for a free range. */
export const freeQuery = ({ from, to }: ChartRange) => ({ from: isoSeconds(from), to: isoSeconds(to) });

/** Less has few points: one each ten seconds, or each minute. */
const minSeconds = 120;

/** The query for a range that was marked in a chart. What is too short becomes longer around its middle. */
export function zoomedQuery({ from, to }: ChartRange) {
  const middle = (from + to) / 2;
  const half = Math.max(to - from, minSeconds) / 2;
  return freeQuery({ from: middle - half, to: middle + half });
}

const isoSeconds = (seconds: number) =>
  new Date(Math.round(seconds) * 1000).toISOString().replace('.000', '');
