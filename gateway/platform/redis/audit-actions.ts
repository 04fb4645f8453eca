/**
 * Actions of the audit log: what was changed, and how, with what somebody did in words, before what it was done to. An action
 * ends with `.incomplete` if it was not carried to its end.
 */
const auditVerbs = {
  'api-tokens.issue': 'issued the API token',
  'api-tokens.revoke': 'revoked the API token',
  'bans.add': 'banned',
  'bans.lift': 'lifted the ban of',
  'console.end': 'ended the session',
  'console.link': 'made a link to the console for',
  'console.sign_in': 'signed in',
  'customers.create': 'created the customer',
  'customers.remove': 'removed the customer',
  'customers.resume': 'resumed',
  'customers.set': 'changed the customer',
  'customers.suspend': 'suspended',
  'keys.import': 'imported keys:',
  'keys.issue': 'issued the key',
  'keys.revoke': 'revoked the key',
  'keys.rotate': 'rotated the key',
  'keys.set': 'changed the key',
  'plans.remove': 'removed the plan',
  'plans.seed': 'set the default of the plan',
  'plans.set': 'changed the plan',
  'policy.seed': 'set the default of the ban policy:',
  'policy.set': 'changed the ban policy:',
  'portal.end': 'ended the portal sessions of',
  'portal.link': 'made a link to the portal for',
  'portal.sign_in': 'entered the portal:',
  'tokens.issue': 'issued an internal token for',
  'usage.reset-day': "reset today's usage of",
  'usage.retention': 'changed the retention of use:',
  'usage.seed': 'set the default retention of use:',
  'webhooks.add': 'added the webhook',
  'webhooks.remove': 'removed the webhook',
  'webhooks.set': 'changed the webhook',
} as const;

export const auditActions = Object.keys(auditVerbs);

export type AuditAction = keyof typeof auditVerbs;

/** @param action also one of another version, which stays as it is */
export const verbOf = (action: string): string =>
  new Map<string, string>(Object.entries(auditVerbs)).get(action) ?? action;
