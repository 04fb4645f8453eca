/** A valid name of a plan. */
export const planNamePattern = /^[a-z][a-z0-9-]{0,31}$/;
