/** An API key, or a good part of one: it must not get into an address, nor be shown. @param {string} text */
export const looksLikeKey = (text) =>
  /pets_[0-9A-Za-z]{5,}/.test(text) || /^[0-9A-Za-z]{38}$/.test(text.trim());
