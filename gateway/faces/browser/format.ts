import { html } from 'lit';
import { dayNumberOf } from '../../limits/windows.ts';

const numbers = new Intl.NumberFormat();
const fewDigits = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 3 });
const shares = new Intl.NumberFormat(undefined, { style: 'percent', minimumFractionDigits: 1 });
const wholeShares = new Intl.NumberFormat(undefined, { style: 'percent' });
const dateTimes = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const times = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
const months = new Intl.DateTimeFormat(undefined, { month: 'long', year: 'numeric', timeZone: 'UTC' });
// In the language of the pages: these are words of their sentences.
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

/** @param value grouped: 10,000; null for none */
export const formatNumber = (value: number | null) => (value === null ? '–' : numbers.format(value));

/** @param value such as a rate: 12.3; null for none */
export const formatRate = (value: number | null) => (value === null ? '–' : fewDigits.format(value));

/** @param ms null for none */
export const formatMilliseconds = (ms: number | null) => (ms === null ? '–' : `${formatRate(ms)} ms`);

/** @param share 0 to 1. All of it has no decimal, so that it cannot be taken for nearly all. */
export const formatShare = (share: number) => (share === 1 ? wholeShares : shares).format(share);

export const plural = (count: number | undefined, one: string, many: string = `${one}s`) =>
  `${formatNumber(count ?? 0)} ${count === 1 ? one : many}`;

/** @param text that begins with a small letter */
export const capitalized = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

/**
 * A time in the viewer's zone, with UTC on hover.
 * @param options time: without the date, for today
 */
export function formatTime(iso: string, { dateStyle = 'full' }: { dateStyle?: 'full' | 'time' } = {}) {
  const date = new Date(iso);
  const text = (dateStyle === 'time' ? times : dateTimes).format(date);
  return html`<time datetime=${iso} title=${utc(date)}>${text}</time>`;
}

const isoTimes = /(\d{4}-\d\d-\d\dT[\d:.]+Z)/;

/** Shows the times in a text in the viewer's zone. */
export const withTimes = (text: string) =>
  text.split(isoTimes).map((part, index) => (index % 2 === 1 ? formatTime(part) : part));

/** @param local value of a datetime-local field, which is in the viewer's zone */
export function isoTime(local: string) {
  const date = new Date(local);
  return local === '' || Number.isNaN(date.getTime()) ? '' : date.toISOString();
}

/** Value of such a field. */
export function localTime(iso: string) {
  const date = new Date(iso);
  if (iso === '' || Number.isNaN(date.getTime())) return '';
  const shifted = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 19);
}

/** @param month as YYYY-MM, such as 2026-11 */
export const formatMonth = (month: string) => months.format(new Date(month));

export const utc = (date: Date) => `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`;

const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
];

/** "3 minutes ago" or "in 2 hours", with the time itself on hover. */
export function formatRelative(iso: string, nowMs: number = Date.now()) {
  const date = new Date(iso);
  const seconds = Math.round((date.getTime() - nowMs) / 1000);
  const [unit, length] = units.find(([, length]) => Math.abs(seconds) >= length) ?? ['second', 1];
  const text = relative.format(Math.trunc(seconds / length), unit);
  return html`<time datetime=${iso} title=${`${dateTimes.format(date)} · ${utc(date)}`}>${text}</time>`;
}

/** @param date UTC day such as 2026-11-29, as "today" or "3 days ago" */
export function formatDay(date: string, nowMs: number = Date.now()) {
  return relative.format(dayNumberOf(Date.parse(date)) - dayNumberOf(nowMs), 'day');
}

/** The same of a time that there may not be. @param none for no time */
export const relativeOr = (iso: string | null, none: unknown) =>
  iso === null || iso === '' ? none : formatRelative(iso);

/** @param seconds such as "2 hours 5 minutes" or "23 seconds" */
export function formatDuration(seconds: number) {
  let rest = Math.max(0, Math.round(seconds));
  const parts = units.map(([unit, length]) => {
    const value = Math.floor(rest / length);
    rest %= length;
    return value === 0 ? '' : plural(value, unit);
  });
  return parts.filter(Boolean).slice(0, 2).join(' ') || plural(0, 'second');
}

export const formatMegabytes = (bytes: number) => `${formatNumber(Math.round(bytes / 1024 ** 2))} MB`;
