/** What people write about a customer beside its name, with words for forms and for options. Also a browser loads this. */
export const customerTexts = {
  contact: { label: 'Contact', meaning: 'whom to ask, such as an address for mail' },
  notes: { label: 'Notes', meaning: 'what colleagues should know' },
  reference: {
    label: 'Reference of the billing system',
    meaning: 'what the billing system calls the customer',
  },
} as const;

export type CustomerText = keyof typeof customerTexts;

export const textNames = ['contact', 'notes', 'reference'] as const satisfies readonly CustomerText[];

/** Some of them, such as those of a record. */
export type CustomerTexts<Value = string> = { [Name in CustomerText]?: Value | undefined };

/** Makes an object with a value for each of them. */
export function byText<Value>(valueOf: (name: CustomerText) => Value): Record<CustomerText, Value> {
  return { contact: valueOf('contact'), notes: valueOf('notes'), reference: valueOf('reference') };
}

/** Picks them out of a value that has more. */
export function textsIn(value: CustomerTexts): CustomerTexts {
  return byText((name) => value[name]);
}
