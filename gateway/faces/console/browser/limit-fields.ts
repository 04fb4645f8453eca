import { maxLimit, parseLimit, type PlanField } from '../../../limits/limits.ts';
import { forAll, windows, type WindowName } from '../../../limits/windows.ts';
import { field, type FieldOptions, type FormTexts } from '../../browser/elements/fields.ts';
import { api } from './api.ts';
import type { KeyPlan, Page } from './responses.ts';

/** Plans that a customer can be on. */
export const fetchPlans = async () => (await api.get<Page<KeyPlan>>('/api/key-plans')).items;

/** @returns null for an empty field, and for what is no limit, which a form does not send */
export const formLimits = (form: FormTexts): Record<WindowName, number | null> =>
  forAll((name) => parseLimit(form(name)) ?? null);

/** A field for the limit of each window. @param label before words such as "a minute" */
export const limitFields = (
  label: string,
  optionsOf: (name: WindowName) => FieldOptions,
  nameOf: (name: WindowName) => PlanField = (name) => name,
) =>
  windows.map(({ name, each }) =>
    field(`${label} ${each}`, nameOf(name), {
      type: 'number',
      min: 1,
      max: maxLimit,
      placeholder: 'no limit',
      ...optionsOf(name),
    }),
  );
