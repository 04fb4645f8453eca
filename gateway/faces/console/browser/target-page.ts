/** Pages of targets of the audit log, by the beginning of the action. */
const pages: Readonly<Record<string, string | undefined>> = {
  policy: '/console/bans',
  usage: '/console/settings',
};

/** Page of a target that is neither a key nor a customer nor a plan for keys. */
export const targetPage = (action: string, target: string) =>
  target === 'anonymous' ? pages['policy'] : pages[action.split('.', 1)[0] ?? ''];
