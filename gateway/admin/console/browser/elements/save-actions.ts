import { html, nothing } from 'lit';
import { session } from '../session.ts';
import { reasonField } from './reason-field.ts';

/**
 * The buttons below the form of a setting; none for a viewer.
 * @param options more: further buttons
 */
export const saveActions = ({
  busy,
  label = 'Save',
  canSave,
  canDiscard,
  discard,
  more = nothing,
}: {
  busy: boolean;
  label?: string;
  canSave: boolean;
  canDiscard: boolean;
  discard: () => void;
  more?: unknown;
}) =>
  session.isOperator
    ? html`${canSave ? reasonField() : nothing}
        <div class="actions">
          <button class="wa-brand" ?disabled=${!canSave || busy}>${busy ? 'Working…' : label}</button>
          <button type="button" class="wa-plain" ?disabled=${!canDiscard} @click=${discard}>Discard</button>
          ${more}
        </div>`
    : nothing;
