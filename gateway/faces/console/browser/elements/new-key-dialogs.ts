import { html } from 'lit';
import { knownIn, lackingWindows } from '../../../../limits/limits.ts';
import { keyFields } from '../../../../limits/record-fields.ts';
import { ApiFailure } from '../../../browser/api-failure.ts';
import { ask } from '../../../browser/elements/ask-dialog.ts';
import { choice, field, graceField } from '../../../browser/elements/fields.ts';
import { formFields, keptWords, newKeyFields } from '../../../browser/elements/key-fields.ts';
import type { LightElement } from '../../../browser/elements/light-element.ts';
import type { FormTexts } from '../../../browser/form-text.ts';
import { url } from '../../../browser/url.ts';
import { api } from '../api.ts';
import { apiPath, keyPath, keyTitle } from '../key.ts';
import { formLimits, limitFields } from '../limit-fields.ts';
import { planOptions, withPlans } from '../plan-names.ts';
import type { IssuedKey } from '../responses.ts';
import { router } from '../router.ts';

interface Named {
  id: string;
  name: string;
}

const showKey = ({ id }: { id: string }) => router.navigate(keyPath(id));

/** Issues a key of a new customer. @param done called with the key when it is stored elsewhere */
export const askToIssue = (host: LightElement, done: (issued: IssuedKey) => unknown = showKey) =>
  withPlans((plans) =>
    askForKey(host, {
      heading: 'New customer with a key',
      action: 'Issue the key',
      message: (form) => {
        const chosen = plans.find(({ name }) => name === form('plan'));
        const needsLimits = chosen?.needsOwnLimits === true;
        return html`${field('Name of the customer', 'name', { required: true, autofocus: true })}
          ${choice('Plan', 'plan', planOptions(plans), { value: 'free', required: true })}
          <div class="fields">
            ${limitFields({
              label: 'Own limit',
              lacking: needsLimits ? lackingWindows(undefined, knownIn(formLimits(form))) : [],
              placeholder: (name) => (needsLimits ? '' : `${chosen?.[name] ?? 'no limit'}, as its plan`),
            })}
            ${newKeyFields()}
          </div>
          <p class="quiet">
            ${
              needsLimits
                ? `Keys on ${chosen?.name} need a limit of their own.`
                : 'Empty limits are those of the plan. Without a date the key does not expire, and without scopes it may call all operations.'
            }
          </p>`;
      },
      create: (form) =>
        api.post('/api/keys', {
          name: form('name'),
          plan: form('plan'),
          ...formFields(keyFields, form),
          ...formLimits(form),
        }),
      done,
    }),
  );

/** Issues a further key of a customer. */
export const askToAddKey = (host: LightElement, of: Named, done: () => unknown) =>
  askForKey(host, {
    heading: `Add a key for ${keyTitle(of)}`,
    action: 'Issue the key',
    message: () =>
      html`${field('Name of the key', 'name', { placeholder: of.name, autofocus: true })}
        <div class="fields">${newKeyFields()}</div>
        <p class="quiet">It shares the customer's plan, limits and what is used of them.</p>`,
    create: (form) =>
      api.post(`${apiPath(of.id)}/keys`, { name: form('name') || undefined, ...formFields(keyFields, form) }),
    done,
  });

/** Issues a key that replaces another one. */
export const askToRotate = (host: LightElement, of: Named) =>
  askForKey(host, {
    heading: `Rotate the key of ${keyTitle(of)}`,
    action: 'Rotate the key',
    message: () =>
      html`<p>
          A new key takes over the ${keptWords(keyFields)}. Plan, limits and what is used of them are the
          customer's.
        </p>
        ${graceField()}`,
    create: (form) => api.post(url`/api/keys/${of.id}/rotate`, { graceSeconds: Number(form('grace')) }),
    done: showKey,
  });

function askForKey(
  host: LightElement,
  {
    create,
    done,
    ...question
  }: {
    heading: string;
    action: string;
    message: (form: FormTexts) => unknown;
    create: (form: FormTexts) => Promise<IssuedKey>;
    done: (issued: IssuedKey) => unknown;
  },
) {
  ask(host, {
    ...question,
    run: async (form) => {
      const issued = await create(form).catch(sayThatItMayExist);
      return {
        noun: 'key',
        label: 'API key',
        text: issued.key,
        about: html`The key of <strong>${keyTitle(issued)}</strong> works now.
          <strong>It is not shown again</strong>: only its hash is stored. Copy it before you close this.`,
        warnings: issued.warnings,
        stored: () => done(issued),
      };
    },
  });
}

/** Without a response, nobody knows whether there is a key. */
function sayThatItMayExist(error: unknown): never {
  if (!(error instanceof ApiFailure) || error.code !== 'unreachable') throw error;
  const mayExist =
    'A key may have been made all the same, which nobody has: look in the audit log or under Keys.';
  throw error.saying(`${error.message} ${mayExist}`);
}
