/** Why the person makes the next change. Of all forms of the page, since one change is made at a time. */
export const changeReason = {
  text: '',

  /** @returns the header of a change; it can only have ASCII */
  headers(): Record<string, string> {
    const text = this.text.trim();
    return text === '' ? {} : { 'X-Change-Reason': encodeURIComponent(text) };
  },
};
