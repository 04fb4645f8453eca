import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

/*
 * An API key is "pets_", 32 random base62 characters and 6 base62 characters of the CRC32 of everything before them. The
 * prefix lets secret scanners find leaked keys; the checksum lets a typo be refused without a look-up.
 */
const prefix = 'pets_';
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const randomLength = 32;
const checksumLength = 6;
const pattern = /^pets_[0-9A-Za-z]{38}$/;

/** Generates a key with 32 characters from the system's secure random source, about 190 bits. */
export function generateApiKey(): string {
  let body = prefix;
  for (let index = 0; index < randomLength; index += 1) body += alphabet[randomInt(alphabet.length)];
  return body + checksum(body);
}

/** Whether the text has the form of an API key; its checksum may be wrong. */
export function hasApiKeyForm(text: string): boolean {
  return pattern.test(text);
}

/** Whether the text has the form and the checksum of an API key. It says nothing about whether the key exists. */
export function isWellFormedApiKey(text: string): boolean {
  if (!hasApiKeyForm(text)) return false;
  const body = text.slice(0, -checksumLength);
  return text.slice(-checksumLength) === checksum(body);
}

/** Hexadecimal SHA-256 of the key: the only form in which a key is stored or looked up. */
export function hashApiKey(key: string): string {
  return hash('sha256', key, 'hex');
}

/** First characters of a key: enough for a person to recognise it, and useless to anyone else. */
export function apiKeyHint(key: string): string {
  return `${key.slice(0, prefix.length + 4)}…`;
}

function checksum(body: string): string {
  let rest = crc32(body);
  let digits = '';
  for (let index = 0; index < checksumLength; index += 1) {
    digits = `${alphabet[rest % alphabet.length]}${digits}`;
    rest = Math.floor(rest / alphabet.length);
  }
  return digits;
}
