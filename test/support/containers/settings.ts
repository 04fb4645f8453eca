import { settings as gatewaySettings, serviceSettings } from '../../../gateway/platform/config/config.ts';
import { settings as petsSettings } from '../../../pets-service/config.ts';

/** Names of all settings that a deployment may give a service. */
export const settingsOf: Readonly<Record<string, readonly string[]>> = {
  gateway: ['NODE_ENV', ...Object.keys(gatewaySettings.shape)],
  'pets-service': ['NODE_ENV', ...Object.keys(petsSettings.shape)],
};

const { SHUTDOWN_DELAY_MS: delay, SHUTDOWN_TIMEOUT_MS: timeout } = serviceSettings;

/** Time that a service takes at most to finish its requests, unless it is told otherwise. */
export const drainMs = delay.parse(undefined) + timeout.parse(undefined);
