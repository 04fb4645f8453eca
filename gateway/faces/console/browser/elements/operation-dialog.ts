import { html, nothing } from 'lit';
import { textIn } from '../../../../limits/record-fields.ts';
import { ask, type Secret } from '../../../browser/elements/ask-dialog.ts';
import { checkbox, choice, dateField, field, type FormTexts } from '../../../browser/elements/fields.ts';
import { menuColumn, type Action } from '../../../browser/elements/menu.ts';
import type { PolledElement } from '../../../browser/elements/polled-element.ts';
import { capitalized, isoTime, localTime, withTimes } from '../../../browser/format.ts';
import { fact } from '../../../browser/page-facts.ts';
import { ApiFailure, type Changed } from '../../../browser/request.ts';
import type { Dialog, DialogField } from '../../dialogs.ts';
import { api, session } from '../api.ts';
import { findOne, keyPath } from '../key.ts';
import { router } from '../router.ts';

type Page = PolledElement<unknown>;

/** What a page asks for beside what an operation says. */
interface More {
  /** Puts the fields of the operation between others. */
  view?: (fields: unknown[], form: FormTexts) => unknown;
  input?: (form: FormTexts) => object;
}

const dialogs: readonly Dialog[] = JSON.parse(fact('dialogs'));

/** What can be done with a record in its state, as the operations on its kind say: what is usual first, what is dangerous last. */
export const offers = (page: Page, noun: string, target: object): Action[] =>
  (['primary', undefined, 'danger'] as const)
    .flatMap((tone) => dialogs.filter((dialog) => dialog.tone === tone))
    .filter((dialog) => dialog.noun === noun && dialog.states?.includes(textIn(target, 'state')) !== false)
    .map((dialog) => actionOf(page, dialog, target));

/** A last column of a list with that for each record. */
export const offersColumn = <Row extends { id: string }>(page: Page, noun: string) =>
  session.isOperator && menuColumn<Row>(titleOf, (row) => offers(page, noun, row));

/** What one operation says. @param target asked for, too, if left out */
export function offer(page: Page, operationId: string, target?: object, more?: More): Action {
  const dialog = dialogs.find((each) => each.operationId === operationId);
  if (dialog === undefined) throw new Error(`the operation ${operationId} says no dialog`);
  return actionOf(page, dialog, target, more);
}

const actionOf = (page: Page, dialog: Dialog, target?: object, more?: More): Action => ({
  text: dialog.offer,
  act: () => perform(page, dialog, target, more),
  ...(target && { name: nameOf(dialog, titleOf(target)) }),
  ...(dialog.tone && { tone: dialog.tone }),
});

/** Such as "Revoke the token billing". */
const nameOf = ({ heading, offer }: Dialog, name: string) =>
  heading === undefined ? `${offer} of ${name}` : filled(heading, { name }).replace('?', '');

/** Makes a change, after a dialog for what it needs. */
function perform(page: Page, dialog: Dialog, target?: object, more: More = {}) {
  const { heading, offer, text, tone, noun = '', fields } = dialog;
  const { action = `${offer.replace('…', '')} the ${noun}` } = dialog;
  if (heading === undefined) {
    return page.act(async () => {
      const secret = await make(page, dialog, target);
      if (secret !== undefined) ask(page, { heading: secret.label, secret });
    });
  }
  const shown = { ...target, name: target === undefined ? `a ${noun}` : titleOf(target) };
  const isAsked = target === undefined && noun !== '';
  const { view = (drawn) => drawn } = more;
  return ask(page, {
    heading: filled(heading, shown),
    action,
    danger: tone === 'danger',
    asksReason: !fields.some(({ name }) => name === 'reason'),
    message: (form) =>
      html`${text === undefined ? nothing : html`<p>${filled(text, shown)}</p>`}
      ${isAsked ? field(namesOf(noun), 'target', { required: true, autofocus: true, maxlength: 5000 }) : nothing}
      ${view(
        fields.map((each, index) =>
          formField(
            { ...each, placeholder: filled(each.placeholder, target), autofocus: index === 0 },
            dialog.method === 'PATCH' ? target : undefined,
          ),
        ),
        form,
      )}`,
    run: async (form, initial) => {
      const found = isAsked ? await findOne(noun, form('target')) : target;
      return make(page, dialog, found, { ...inputOf(dialog, form, initial), ...more.input?.(form) });
    },
  });
}

/** What a form gives. Of a change of fields, only what differs from what there was. */
const inputOf = ({ method, fields, whole }: Dialog, form: FormTexts, initial: FormTexts) =>
  Object.fromEntries(
    fields
      .map((each) => [each.name, formValue(each, form), formValue(each, initial)] as const)
      .filter(
        ([, value, before]) =>
          method !== 'PATCH' || whole || JSON.stringify(value) !== JSON.stringify(before),
      ),
  );

/** @returns the secret that was made, if one was */
async function make(
  page: Page,
  { method, path, seen, gives, done, secret }: Dialog,
  target: object = {},
  input: object = {},
): Promise<Secret | void> {
  const known = Object.entries(target).filter(([name]) => seen.includes(name));
  const id = textIn(target, 'id') || textIn(target, 'name');
  const change = api.send<Changed>(
    method,
    `/api${path.replace(/:\w+/, encodeURIComponent(id))}`,
    method === 'DELETE' ? undefined : { ...gives, ...input, ...Object.fromEntries(known) },
  );
  if (secret === undefined) {
    return page.saved(change, () => {
      // What is removed has no page any more.
      const [, list] = /^(.*)\/:\w+$/.exec(path) ?? [];
      if (method === 'DELETE' && list !== undefined) router.navigate(`/console${list}`);
      return filled(done, { ...target, name: titleOf(target) });
    });
  }
  const { field: noun, label, about } = secret;
  const made = await change.catch((error: unknown): never => {
    // Without a response, nobody knows.
    if (error instanceof ApiFailure && error.code === 'unreachable')
      error.message += ` A ${noun} may have been made all the same: look in the audit log.`;
    throw error;
  });
  return {
    noun,
    label,
    text: textIn(made, noun),
    about: html`${withTimes(filled(about, made))} <strong>It is not shown again</strong>: copy it before you
      close this.`,
    warnings: made.warnings,
    stored: () => showMade(page, textIn(made, 'id')),
  };
}

/** A key has a page. */
const showMade = (page: Page, id: string) =>
  id.startsWith('key_') ? router.navigate(keyPath(id)) : page.reload();

const titleOf = (target: object) => textIn(target, 'name') || textIn(target, 'url') || textIn(target, 'id');

const namesOf = (noun: string) =>
  `${capitalized(noun)} (${noun === 'key' ? 'name, id, hint or the key itself' : 'name or id'})`;

/** A text with the fields of a record in their places. */
const filled = (text = '', record: object = {}) =>
  text.replaceAll(/\{(\w+)\}/g, (_place, name: string) => textIn(record, name));

/** A field for what an operation takes. @param record that has it already */
function formField(
  { name, label, kind, type, choices, chosen, ...options }: DialogField & { autofocus?: boolean },
  record?: object,
) {
  const value = record && textIn(record, name);
  if (choices !== undefined && type === 'list') {
    const isChosen = (each: string) => value?.split(' ').includes(each) === true;
    return html`<fieldset>
      <legend>${label}</legend>
      ${choices.map(([each, text]) => checkbox(text, String(each), { checked: isChosen(String(each)) }))}
    </fieldset>`;
  }
  if (choices !== undefined)
    return choice(label, name, choices, { ...options, value: String(chosen ?? choices[0]?.[0]) });
  if (type === 'boolean') return checkbox(label, name, { checked: value === 'true' });
  if (kind === 'time') {
    return value === undefined
      ? dateField(label, name)
      : field(`${label} (your time zone)`, name, {
          type: 'datetime-local',
          step: '1',
          value: localTime(value),
        });
  }
  return field(label, name, {
    ...options,
    maxlength: options.maxlength ?? (type === 'list' ? 5000 : 100),
    type: kind ?? (type === 'number' ? type : 'text'),
    value,
  });
}

/** What the operation takes for what is in the field. */
function formValue({ name, kind, type, choices, nullable }: DialogField, form: FormTexts): unknown {
  const empty = nullable ? null : undefined;
  if (type === 'list') {
    const given =
      choices === undefined
        ? form(name).split(/[\s,]+/)
        : choices.map(([each]) => (form(String(each)) === '' ? '' : each));
    const items = given.filter((item) => item !== '');
    return items.length === 0 ? empty : items;
  }
  if (type === 'boolean') return form(name) !== '';
  const text = kind === 'time' ? isoTime(form(name)) : form(name);
  if (text === '') return empty;
  return type === 'number' ? Number(text) : text;
}
