const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const checksumLength = 6;

/** Whether a text has the form and the checksum of an API key with any prefix: keys/api-key-format.ts, for browsers. */
export function isApiKey(text: string): boolean {
  if (!/^[a-z0-9]{1,15}_[0-9A-Za-z]{38}$/.test(text)) return false;
  let rest = crc32(text.slice(0, -checksumLength));
  let digits = '';
  for (let index = 0; index < checksumLength; index += 1) {
    digits = `${alphabet[rest % alphabet.length]}${digits}`;
    rest = Math.floor(rest / alphabet.length);
  }
  return text.endsWith(digits);
}

function crc32(text: string): number {
  let crc = 0xffffffff;
  for (let index = 0; index < text.length; index += 1) {
    crc ^= text.charCodeAt(index);
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}
