import { hash, randomBytes } from 'node:crypto';

/** Generates a random secret as base64url. */
export function generateSecret(bits: number): string {
  return randomBytes(bits / 8).toString('base64url');
}

/** Hexadecimal SHA-256: the only form in which a code or a token is stored or looked up. */
export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'hex');
}
