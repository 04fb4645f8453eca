import { html } from 'lit';
import { changeReason } from '../change-reason.ts';

/** Asks in a form why the change is made. Not needed: the audit log has it if it was given. */
export const reasonField = () =>
  html`<label class="reason">
    Reason <span class="quiet">(ticket; for the audit log)</span>
    <input
      autocomplete="off"
      maxlength="100"
      .value=${changeReason.text}
      @input=${(event: InputEvent) => {
        if (event.target instanceof HTMLInputElement) changeReason.text = event.target.value;
      }}
    />
  </label>`;
