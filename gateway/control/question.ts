import { byKind, type RecordFields } from '../limits/record-fields.ts';

/** A field of a form. What it takes, whether it is required and its limits follow from the schema of the input. */
export interface FormField {
  /** What is in parentheses at its end is less important. */
  label: string;
  placeholder?: string;
  /** What the field means, below it. */
  hint?: string;
  /** Of a text, if it is not any. */
  kind?: 'time' | 'url';
  /** Of a number, if it is not whole. */
  step?: string;
  /** Values and their texts; of a list, each of them can be chosen. */
  choices?: readonly (readonly [value: string | number, text: string])[];
  /** Which is chosen at first; else the first one. */
  chosen?: number;
}

/** What a change has made and nobody can read again. */
export interface MadeSecret {
  /** Field of the result, and its name in a sentence. */
  field: string;
  label: string;
  about: string;
}

/**
 * How the console offers a change, what it asks before it, and what it says after it. In its texts, `{name}` is the title of the
 * target, and other fields of the target, or of the result after the change, have places of their names.
 */
export interface Question {
  /** In a menu or on a button. Ends with … if it is asked for something. */
  offer: string;
  /** States of the target in which it is offered; all by default. */
  states?: readonly string[];
  /** Whether it is the one that is usually wanted, or to be thought over. */
  tone?: 'primary' | 'danger';
  /** Of the dialog. Without one the change is made at once. */
  heading?: string;
  /** On the button that makes the change; as in `Revoke the key` by default. */
  action?: string;
  text?: string;
  /** Fields of the input that are asked for. Of a change of fields, only those are sent that differ from the target's. */
  fields?: Readonly<Record<string, FormField>>;
  /** Whether all of them are sent. */
  whole?: true;
  /** Input that is not asked for. */
  gives?: Readonly<Record<string, unknown>>;
  /** What it did; nothing is said if it has made a secret. */
  done?: string;
  secret?: MadeSecret;
}

/** Fields of a form for what operators give a record. */
export const formFields = <Of extends RecordFields>(fields: Of): { [Name in keyof Of]: FormField } =>
  byKind(fields, {
    text: ({ label }): FormField => ({ label }),
    time: ({ label }): FormField => ({ label, kind: 'time' }),
    scopes: ({ label }): FormField => ({ label, placeholder: 'all' }),
  });
