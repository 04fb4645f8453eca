import { maxLimit, parseLimit } from '../../../limits/limits.ts';
import type { ByPlanField, PlanField } from '../../../limits/shadow-limits.ts';
import { doubtfulWindows, forAll, windows, type ByWindow, type WindowName } from '../../../limits/windows.ts';
import { field, type FormTexts } from '../../browser/elements/fields.ts';
import { api } from './api.ts';
import type { KeyPlan, Page } from './responses.ts';

/** Plans that a customer can be on. */
export const fetchPlans = async () => (await api.get<Page<KeyPlan>>('/api/key-plans')).items;

/** @returns null for an empty field, and for what is no limit, which a form does not send */
export const formLimits = (form: FormTexts): Record<WindowName, number | null> =>
  forAll((name) => parseLimit(form(name)) ?? null);

/** What is unusual about limits; empty if nothing is. */
export const doubtText = (limits: ByWindow<number | null>): string =>
  doubtfulWindows(limits)
    .map(
      ({ longer, shorter }) =>
        `The ${longer} limit is less than the ${shorter} limit, so the ${shorter} limit is never reached.`,
    )
    .join(' ');

interface LimitFieldOptions {
  /** Before words such as "a minute". */
  label: string;
  /** Windows that lack a limit as long as their fields are empty. */
  lacking?: readonly WindowName[];
  values?: ByPlanField<number | null> | undefined;
  /** Names of the fields, if they are not those of the windows. */
  nameOf?: (name: WindowName) => PlanField;
  /** Field that gets the focus. */
  focused?: string;
  /** What an empty field stands for. */
  placeholder?: (name: WindowName) => string;
}

/** A field for the limit of each window. */
export const limitFields = ({
  label,
  lacking = [],
  values,
  nameOf = (name) => name,
  focused,
  placeholder,
}: LimitFieldOptions) =>
  windows.map(({ name, each }) =>
    field(`${label} ${each}`, nameOf(name), {
      type: 'number',
      min: 1,
      max: maxLimit,
      required: lacking.includes(name),
      placeholder: placeholder?.(name) ?? 'no limit',
      value: String(values?.[nameOf(name)] ?? ''),
      autofocus: name === focused,
    }),
  );
