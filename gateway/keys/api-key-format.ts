import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { keyPrefix } from '../platform/config/key-prefix.ts';

/*
 * An API key is the prefix, 32 random base62 characters and 6 base62 characters of the CRC32 of everything before them. The
 * prefix lets secret scanners find leaked keys; the checksum lets a typo be refused without a look-up.
 */
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const randomLength = 32;
const checksumLength = 6;
const hintLength = 4;
const afterPrefix = /^[0-9A-Za-z]{38}$/;
/** A key with any prefix. */
const anyKey = /[a-z0-9]{1,15}_[0-9A-Za-z]{38}/g;

/** Generates a key with 32 characters from the system's secure random source, about 190 bits. */
export function generateApiKey(): string {
  let body = keyPrefix();
  for (let index = 0; index < randomLength; index += 1) body += alphabet[randomInt(alphabet.length)];
  return body + checksum(body);
}

/** Whether the text has the form of an API key; its checksum may be wrong. */
export function hasApiKeyForm(text: string): boolean {
  const prefix = keyPrefix();
  return text.startsWith(prefix) && afterPrefix.test(text.slice(prefix.length));
}

/** Whether the text has the form and the checksum of an API key. It says nothing about whether the key exists. */
export function isWellFormedApiKey(text: string): boolean {
  return hasApiKeyForm(text) && hasChecksum(text);
}

/**
 * Whether a text contains an API key, whatever its prefix: the checksum, which covers the prefix, tells it from any other
 * text.
 */
export function containsWholeKey(text: string): boolean {
  return (text.match(anyKey) ?? []).some(hasChecksum);
}

function hasChecksum(key: string): boolean {
  return key.slice(-checksumLength) === checksum(key.slice(0, -checksumLength));
}

/** Describes the form of a key for messages. */
export function describeKeyForm(): string {
  return `${keyPrefix()} with ${randomLength + checksumLength} letters and digits after it`;
}

/** Hexadecimal SHA-256 of the key: the only form in which a key is stored or looked up. */
export function hashApiKey(key: string): string {
  return hash('sha256', key, 'hex');
}

/** First characters of a key: enough for a person to recognise it, and useless to anyone else. */
export function apiKeyHint(key: string): string {
  return `${key.slice(0, keyPrefix().length + hintLength)}…`;
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
